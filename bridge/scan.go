package bridge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

const (
	scanPage     = 1000             // rows of one request at most
	sweepRate    = 50               // rows a second of a sweep at least: the table's size is known late and roughly
	sizeInterval = 10 * time.Minute // how often the size is asked for
)

// scanRequests is the last request for a scan, as Flush handed it over. It is safe for use by many.
type scanRequests struct {
	mu      sync.Mutex
	last    scanRequest
	changed chan struct{} // closed when there is another
}

func (r *scanRequests) get() (scanRequest, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.changed
}

// add makes one more request. What was asked for before is served with it, if it wants a later scan; else it is with that.
func (r *scanRequests) add(a scanRequest) scanRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.SinceMs > r.last.SinceMs {
		r.last = a
		close(r.changed)
		r.changed = make(chan struct{})
	}
	return r.last
}

// scanner reads the region's rows: when it is asked to, and in between slowly, for ever.
type scanner struct {
	*Bridge
	scan, sweep scanState
	size        int64 // rows of the table, of all regions
	sized       time.Time
}

// run works until ctx ends.
func (s *scanner) run(ctx context.Context) {
	if s.cfg.SweepInterval > 0 && s.sweep.StartedMs == 0 {
		s.sweep = scanState{StartedMs: time.Now().UnixMilli(), Done: true} // the first scan of all stands for a sweep
	}
	for ctx.Err() == nil {
		last, more := s.scanRequests.get()
		switch {
		case last.SinceMs > s.scan.StartedMs && (s.scan.Done || s.scan.StartedMs == 0):
			s.scan = scanState{StartedMs: max(time.Now().UnixMilli(), last.SinceMs)} // whoever asked may have a clock ahead
			s.log.Info().Str("why", last.Why).Msg("scan_begun")
			fallthrough
		case s.scan.StartedMs > 0 && !s.scan.Done:
			s.page(ctx, scanKey, &s.scan)
		case s.cfg.SweepInterval > 0 && !s.sweep.Done:
			s.page(ctx, sweepKey, &s.sweep)
		default:
			s.health.setScan("", 0)
			s.awaitNext(ctx, more)
		}
	}
}

// awaitNext waits for a request, or until the next sweep is due.
func (s *scanner) awaitNext(ctx context.Context, more <-chan struct{}) {
	var due <-chan time.Time
	if s.cfg.SweepInterval > 0 {
		timer := time.NewTimer(time.Until(time.UnixMilli(s.sweep.StartedMs).Add(s.cfg.SweepInterval)))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-more:
	case <-due:
		s.sweep = scanState{StartedMs: time.Now().UnixMilli()}
	}
}

// page reads one page, hands it over with how far it is, and pauses for the pace.
func (s *scanner) page(ctx context.Context, kind string, at *scanState) {
	s.health.setScan(kind, at.Rows)
	began, rate := time.Now(), s.rate(ctx, kind)
	in := &dynamodb.ScanInput{
		TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(min(rate, scanPage))), FilterExpression: aws.String("#writer = :region"),
		ExpressionAttributeNames: map[string]string{"#writer": table.WriterRegion}, ExpressionAttributeValues: table.Item{":region": table.S(s.region)},
	}
	if at.PK != "" {
		in.ExclusiveStartKey = table.PrimaryKey(lease.PrimaryKey{Partition: at.PK, Sort: at.SK})
	}
	var out *dynamodb.ScanOutput
	wait := backoff{least: s.cfg.PollMin, most: 5 * time.Second}
	for {
		err := s.ask(ctx, "scan the table", func(ctx context.Context) (err error) {
			out, err = s.db.Scan(ctx, in, noRetryDB)
			return err
		})
		if err == nil {
			break
		}
		if !wait.wait(ctx) {
			return
		}
	}
	d, nowMs := &batch{}, time.Now().UnixMilli()
	for _, item := range out.Items {
		if s.decoder.scanned(d, item, nowMs) == outcomeChange {
			at.Rows++
			s.cfg.Metrics.rows.WithLabelValues(s.region, kind).Inc()
		}
	}
	last := out.LastEvaluatedKey
	at.PK, at.SK, at.Done = table.Text(last, table.PK), table.Text(last, table.SK), len(last) == 0
	d.put(scanEntry(kind, *at))
	if at.Done && kind == scanKey && s.cfg.SweepInterval > 0 { // it was a sweep, too
		s.sweep = scanState{StartedMs: at.StartedMs, Done: true}
		d.put(scanEntry(sweepKey, s.sweep))
	}
	if at.Done && kind == scanKey {
		s.noteScan(d, at, nowMs)
	}
	if s.queue.push(ctx, d) != nil {
		return
	}
	if at.Done {
		s.cfg.Metrics.scans.WithLabelValues(s.region, kind).Inc()
		s.log.Info().Str("kind", kind).Int64("rows", at.Rows).Msg("scan_ended")
	}
	pause.For(ctx, time.Duration(out.ScannedCount)*time.Second/time.Duration(rate)-time.Since(began))
}

// noteScan puts into the journal that a scan is done: whoever asked for it may be anywhere.
func (s *scanner) noteScan(d *batch, at *scanState, nowMs int64) {
	last, _ := s.scanRequests.get()
	took := time.Duration(nowMs-at.StartedMs) * time.Millisecond
	d.note(&eventspb.LeaseJournalEntry{
		AtMs: nowMs, By: "bridge", Kind: "scan", From: s.region, Count: at.Rows,
		Text: fmt.Sprintf("All %d rows of %s were read from the table in %s: %s.", at.Rows, s.region, max(0, took).Round(100*time.Millisecond), last.Why),
	}, s.cfg.Partitions)
}

// rate is how many rows a second are to be read.
func (s *scanner) rate(ctx context.Context, kind string) int {
	if kind == scanKey {
		return s.cfg.ScanRate
	}
	if s.sized.IsZero() || time.Since(s.sized) > sizeInterval {
		// What fails is told, and the last size serves.
		err := s.ask(ctx, "ask for the table's size", func(ctx context.Context) error {
			out, err := s.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.cfg.Table}, noRetryDB)
			if err == nil {
				s.size = aws.ToInt64(out.Table.ItemCount)
			}
			return err
		})
		if err == nil {
			s.sized = time.Now()
		}
	}
	return max(sweepRate, int(1.25*float64(s.size)/s.cfg.SweepInterval.Seconds()))
}
