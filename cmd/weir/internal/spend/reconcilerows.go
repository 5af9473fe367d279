package spend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/spendcounter/reconcile"
	"github.com/weirhq/weir/stream"
)

// sum sums the file by campaign day. It reports and keeps rejected rows.
func (r *reconciliation) sum(ctx context.Context, src *ingest.Source) (*reconcile.Statement, error) {
	rejects := r.rejects
	if rejects == "" {
		rejects = ingest.RejectsName(filepath.Base(r.name))
	}
	file := ingest.NewRejectFile(rejects)
	s := &reconcile.Statement{}
	var read, rejected int64
	err := r.each(ctx, src, "sum", func(row *ingest.Row) error {
		read++
		if row.Err != nil {
			rejected++
			return errors.Join(file.WriteReject(row), r.limit.Check(rejected, read, false))
		}
		for _, e := range row.Events {
			if err := s.Add(campaignDay(e), e.PriceMicros); err != nil {
				return cli.Fail(cli.ExitData, "nothing was compared", fmt.Errorf("line %d: %w", row.Line, err), "check --price-unit")
			}
		}
		return nil
	})
	if err == nil {
		err = r.limit.Check(rejected, read, true)
	}
	err = errors.Join(err, file.Close())
	switch {
	case errors.Is(err, ingest.ErrTooManyRejects):
		return nil, cli.Fail(cli.ExitData, "nothing was compared", err,
			fmt.Sprintf("see the reasons in %q; often --format or --map is wrong. --max-rejects allows more", file.Name()))
	case errors.As(err, new(*cli.Failure)):
		return nil, err
	case err != nil:
		return nil, cli.Fail(0, "the input was not read to its end", err, "run the same command again")
	case read == 0:
		return nil, cli.Fail(cli.ExitData, "nothing was compared", errors.New("the input has no rows"), "check the file")
	case read == rejected:
		return nil, cli.Fail(cli.ExitData, "nothing was compared", fmt.Errorf("the input has %d rows, all of them rejected", read),
			"check the file, --format and --map")
	case rejected > 0:
		r.a.Notef("rejected %d of %d rows, which are not compared: %q has each with its line and reason", rejected, read, file.Name())
	}
	return s, nil
}

// each calls fn for each row of the file.
func (r *reconciliation) each(ctx context.Context, src *ingest.Source, what string, fn func(row *ingest.Row) error) error {
	reader, err := r.reader(src)
	if err != nil {
		return err
	}
	defer reader.ReadAhead()()
	bar, done := ingestProgress(r.a, src.Size(), what, "events")
	defer done()
	const step = 4 << 20 // bytes of the input
	for n, next := int64(0), int64(0); ; n++ {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(&row)
		}
		if err != nil {
			return err
		}
		if read := src.BytesRead(); read >= next {
			if next = read + step; ctx.Err() != nil {
				return ctx.Err()
			}
			if bar != nil {
				bar(ingest.Status{Read: n, Produced: n, BytesRead: read})
			}
		}
	}
}

// campaignDay returns what an event is charged to.
func campaignDay(e *eventspb.AdEvent) reconcile.CampaignDay {
	day := events.BudgetDay(e.GetBudgetDay(), e.GetEventMs())
	return reconcile.CampaignDay{Account: e.GetAccount(), Campaign: e.GetCampaign(), Day: day, Currency: e.GetCurrency()}
}

// match compares the events of the campaign days that differ with the log, in several passes if
// they are many.
func (r *reconciliation) match(ctx context.Context, src *ingest.Source, list []reconcile.Difference) ([]reconcile.Finding, error) {
	if len(list) > maxDifferDays {
		return nil, fmt.Errorf("%d campaign days differ, and at most %d are compared: give a part of the file", len(list), maxDifferDays)
	}
	log, err := r.openLog(ctx, list)
	if err != nil {
		return nil, err
	}
	log.reach(list)
	if missing := len(list) - len(log.days); missing > 0 {
		last := slices.MaxFunc(slices.Collect(maps.Values(log.begins)), time.Time.Compare)
		r.a.Notef("of %d campaign days the log does not have all events, which are therefore not compared: it begins at %s",
			missing, last.UTC().Format(time.RFC3339))
	}
	if len(log.days) == 0 {
		return nil, nil
	}
	r.opt.Only = mayBeOf(log.days)
	defer func() { r.opt.Only = nil }()
	for parts := 1; ; {
		found, err := r.matchParts(ctx, src, log, parts)
		switch {
		case errors.Is(err, errHidden):
			r.opt.Only = nil
		case errors.Is(err, reconcile.ErrTooMany) && parts < maxParts:
			parts *= 4
		default:
			return found, err
		}
	}
}

// errHidden is about rows that Options.Only may have left out.
var errHidden = errors.New("not all rows of the campaigns were found by their ids")

// mayBeOf returns Options.Only for the campaigns of some days: a line that does not have the id of
// one of them is not parsed, which is much faster. It returns nil if they are many. A file may
// write ids in another way, such as with escapes: matchParts notices it. One line in 4,096 is
// parsed whatever it has, so that the caller sees progress.
func mayBeOf(days []reconcile.CampaignDay) func(line []byte) bool {
	const most, every = 8, 4096
	var ids [][]byte
	for _, d := range days {
		id := []byte(d.Campaign)
		if !slices.ContainsFunc(ids, func(x []byte) bool { return bytes.Equal(x, id) }) {
			ids = append(ids, id)
		}
		if len(ids) > most {
			return nil
		}
	}
	lines := 0
	return func(line []byte) bool {
		lines++
		return lines%every == 0 || slices.ContainsFunc(ids, func(id []byte) bool { return bytes.Contains(line, id) })
	}
}

// matchParts compares the events in a number of passes over the file and the log. With Options.Only
// it fails with errHidden if it has not seen all events that were summed, or if event ids are
// derived, which takes all rows.
func (r *reconciliation) matchParts(ctx context.Context, src *ingest.Source, log *eventLog, parts int) ([]reconcile.Finding, error) {
	var found []reconcile.Finding
	rows, derived := 0, 0
	for part := range parts {
		m := reconcile.NewMatcher(maxMatched, log.days)
		m.Part, m.Parts = part, parts
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return log.read(ctx, m) })
		err := r.each(ctx, src, "compare", func(row *ingest.Row) error {
			for _, e := range row.Events {
				if d := campaignDay(e); m.Wants(d) {
					if rows++; row.Derived {
						derived++
					}
					if row.Derived && r.opt.Only != nil {
						return errHidden
					}
					one := reconcile.Event{ID: e.GetEventId(), CampaignDay: d, Micros: e.GetPriceMicros()}
					if err := m.File(row.Line, one); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err == nil && r.opt.Only != nil && rows != log.summed*(part+1) {
			err = errHidden
		}
		g.Go(func() error { return err }) // ends the reading of the log
		if err := g.Wait(); err != nil {
			return nil, err
		}
		found = append(found, m.Findings()...)
	}
	unknown := 0
	for _, f := range found {
		if f.Kind == reconcile.OnlyInFile {
			unknown++
		}
	}
	if derived > 0 && unknown > rows/parts/2 {
		return nil, errors.New("the rows of the file have no event ids, and are not those that were imported: map a column to event_id")
	}
	reconcile.Sort(found)
	return found, nil
}

// eventLog is the partitions of some accounts in the topics of events of a datacentre.
type eventLog struct {
	kafka      kafka.Cluster
	topics     []string
	shards     int32 // partitions of a topic
	partitions []int32
	days       []reconcile.CampaignDay // of which it has all events
	summed     int                     // number of events of these days in the file
	// begins has the partitions that lack their first records, with the time of the first one that
	// they have: of the topic that begins last.
	begins map[int32]time.Time
}

// openLog returns the log of the accounts of some campaign days.
func (r *reconciliation) openLog(ctx context.Context, list []reconcile.Difference) (*eventLog, error) {
	cfg, k, err := connect.Cluster(ctx, r.a)
	if err != nil {
		return nil, err
	}
	layout := node.SpendCounter(cfg).Layout
	l := &eventLog{kafka: k, topics: eventTopics(cfg), shards: layout.Partitions(), begins: map[int32]time.Time{}}
	for _, d := range list {
		if p := events.Shard(d.Account, l.shards); !slices.Contains(l.partitions, p) {
			l.partitions = append(l.partitions, p)
		}
	}
	for _, topic := range l.topics {
		begins, err := kafkaadmin.Beginnings(ctx, k, topic, l.partitions)
		if err != nil {
			return nil, err
		}
		for p, b := range begins {
			complete := b.Offset == 0 && layout.Generation <= 1 // records of a former generation are in other topics
			if !complete && b.Time.After(l.begins[p]) {
				l.begins[p] = b.Time
			}
		}
	}
	return l, nil
}

// reach sets days: those that begin after the partition of their account. A day begins up to 14
// hours before it does in UTC.
func (l *eventLog) reach(list []reconcile.Difference) {
	for _, d := range list {
		day, err := time.Parse(time.DateOnly, d.Day.String())
		begin, short := l.begins[events.Shard(d.Account, l.shards)]
		if err == nil && (!short || day.Add(-14*time.Hour).After(begin)) {
			l.days = append(l.days, d.CampaignDay)
			l.summed += int(d.File.Events)
		}
	}
}

// read gives the events of the log to a Matcher.
func (l *eventLog) read(ctx context.Context, m *reconcile.Matcher) error {
	for _, topic := range l.topics {
		var v events.View
		of := kafkaadmin.TopicRange{Topic: topic, Partitions: l.partitions}
		err := kafkaadmin.ReadPartitions(ctx, l.kafka, of, func(p int32, rec stream.Record) error {
			wanted := v.Decode(rec.Value) == nil && m.WantsCampaign(v.Campaign)
			if !wanted {
				return nil
			}
			e, ok := logEvent(&v)
			if !ok {
				return nil
			}
			return m.Log(reconcile.Place{Topic: topic, Partition: p, Offset: rec.Offset}, e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eventTopics returns the topics of events of this datacentre: the own one, and the copies.
func eventTopics(cfg *config.Config) []string {
	l := node.SpendCounter(cfg).Layout
	list := []string{l.Name(events.EventsTopic)}
	for _, dc := range cfg.PeerNames() {
		list = append(list, l.Name(events.CopiedEventsTopic(dc)))
	}
	return list
}

// logEvent returns an event of the log, as the counter charges it. Heartbeats and records that the
// counter rejects are none.
func logEvent(v *events.View) (e reconcile.Event, ok bool) {
	if len(v.EventID) == 0 || v.BudgetDay == 0 && v.EventMs <= 0 {
		return e, false
	}
	d := reconcile.CampaignDay{
		Account: string(v.Account), Campaign: string(v.Campaign), Day: events.BudgetDay(v.BudgetDay, v.EventMs),
		Currency: v.Currency.String(),
	}
	return reconcile.Event{ID: string(v.EventID), CampaignDay: d, Micros: v.PriceMicros}, true
}
