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
	scanPage     = 1000             // the most rows of one request
	sweepRate    = 50               // the least rows per second of a sweep: DynamoDB's count of rows is late and rough
	sizeInterval = 10 * time.Minute // between requests for the count of rows
)

// scanRequests holds the latest request for a scan, as Flush handed it over. It is safe for
// concurrent use.
type scanRequests struct {
	mu      sync.Mutex
	last    scanRequest
	changed chan struct{} // closed when last changes
}

func (r *scanRequests) get() (scanRequest, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.changed
}

// add combines a request with those before, and returns the latest. One scan that begins at the
// greatest SinceMs serves all of them.
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

// scanner reads the region's rows: at full rate when a scan is requested, and otherwise in slow
// sweeps.
type scanner struct {
	*Bridge
	scan, sweep scanState
	size        int64     // rows of the table, of all regions
	sized       time.Time // when size was requested
}

// run scans until ctx ends.
func (s *scanner) run(ctx context.Context) {
	if s.cfg.SweepInterval > 0 && s.sweep.StartedMs == 0 {
		s.sweep = scanState{StartedMs: time.Now().UnixMilli(), Done: true} // the first scan takes the place of a sweep
	}
	for ctx.Err() == nil {
		last, more := s.scanRequests.get()
		switch {
		case last.SinceMs > s.scan.StartedMs && (s.scan.Done || s.scan.StartedMs == 0):
			s.scan = scanState{StartedMs: max(time.Now().UnixMilli(), last.SinceMs)} // the clock of the request may be ahead
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

// page reads one page, hands it over with the progress, and pauses to keep the rate.
func (s *scanner) page(ctx context.Context, kind string, at *scanState) {
	s.health.setScan(kind, at.Rows)
	began, rate := time.Now(), s.rate(ctx, kind)
	in := &dynamodb.ScanInput{
		TableName: &s.cfg.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(min(rate, scanPage))),
		FilterExpression:          aws.String("#writer = :region"),
		ExpressionAttributeNames:  map[string]string{"#writer": table.WriterRegion},
		ExpressionAttributeValues: table.Item{":region": table.S(s.region)},
	}
	if at.PK != "" {
		in.ExclusiveStartKey = table.PrimaryKey(lease.PrimaryKey{Partition: at.PK, Sort: at.SK})
	}
	var out *dynamodb.ScanOutput
	wait := backoff{least: s.cfg.PollMin, most: 5 * time.Second}
	for {
		err := s.request(ctx, "scan the table", func(ctx context.Context) (err error) {
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
	s.tables.scans.Put(d, kind, *at)
	if at.Done && kind == scanKey && s.cfg.SweepInterval > 0 { // the scan was a sweep, too
		s.sweep = scanState{StartedMs: at.StartedMs, Done: true}
		s.tables.scans.Put(d, sweepKey, s.sweep)
	}
	if at.Done && kind == scanKey {
		s.noteScan(d, at, nowMs)
	}
	if s.push(ctx, d) != nil {
		return
	}
	if at.Done {
		s.cfg.Metrics.scans.WithLabelValues(s.region, kind).Inc()
		s.log.Info().Str("kind", kind).Int64("rows", at.Rows).Msg("scan_ended")
	}
	pause.For(ctx, time.Duration(out.ScannedCount)*time.Second/time.Duration(rate)-time.Since(began))
}

// noteScan adds an entry to the journal: a scan is complete. Its requester may be in any region.
func (s *scanner) noteScan(d *batch, at *scanState, nowMs int64) {
	last, _ := s.scanRequests.get()
	took := time.Duration(nowMs-at.StartedMs) * time.Millisecond
	d.note(&eventspb.LeaseJournalEntry{
		AtMs: nowMs, By: "bridge", Kind: "scan", From: s.region, Count: at.Rows,
		Text: fmt.Sprintf("All %d rows of %s were read from the table in %s: %s.", at.Rows, s.region,
			max(0, took).Round(100*time.Millisecond), last.Why),
	}, s.cfg.Partitions)
}

// rate returns how many rows per second a scan or sweep reads.
func (s *scanner) rate(ctx context.Context, kind string) int {
	if kind == scanKey {
		return s.cfg.ScanRate
	}
	if s.sized.IsZero() || time.Since(s.sized) > sizeInterval {
		// An error is in the status of the region, and the last size serves.
		err := s.request(ctx, "read the table's size", func(ctx context.Context) error {
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
