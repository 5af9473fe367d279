package spend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/internal/config"
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
				return fmt.Errorf("line %d: %w", row.Line, err)
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
	bar, done := ingestProgress(r.a, src.Size(), what, "events")
	defer done()
	for n := int64(0); ; n++ {
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
		if n%4096 == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if bar != nil {
				bar(ingest.Status{Read: n, Produced: n, BytesRead: src.BytesRead()})
			}
		}
	}
}

// campaignDay returns what an event is charged to.
func campaignDay(e *eventspb.AdEvent) reconcile.CampaignDay {
	d := reconcile.CampaignDay{
		Account: e.GetAccount(), Campaign: e.GetCampaign(), Day: events.Day(e.GetBudgetDay()), Currency: e.GetCurrency(),
	}
	if d.Day == 0 {
		d.Day = events.UTCDay(e.GetEventMs())
	}
	return d
}

// match compares the events of the campaign days that differ with the log.
func (r *reconciliation) match(ctx context.Context, src *ingest.Source, list []reconcile.Difference) ([]reconcile.Finding, error) {
	if len(list) > maxDifferDays {
		return nil, errManyDays
	}
	m := reconcile.NewMatcher(maxMatched, list)
	err := r.each(ctx, src, "compare", func(row *ingest.Row) error {
		for _, e := range row.Events {
			if d := campaignDay(e); m.Wants(d) {
				if err := m.File(row.Line, reconcile.Event{ID: e.GetEventId(), CampaignDay: d, Micros: e.GetPriceMicros()}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.readLog(ctx, m, list); err != nil {
		return nil, err
	}
	return m.Findings(), nil
}

// readLog reads the partitions of the accounts in the topics of events and of their copies.
func (r *reconciliation) readLog(ctx context.Context, m *reconcile.Matcher, list []reconcile.Difference) error {
	cfg, k, err := connect.Cluster(ctx, r.a)
	if err != nil {
		return err
	}
	l := node.SpendCounter(cfg).Layout
	seen := map[int32]bool{}
	var partitions []int32
	for _, d := range list {
		if p := events.Shard(d.Account, l.Partitions()); !seen[p] {
			seen[p] = true
			partitions = append(partitions, p)
		}
	}
	for _, topic := range eventTopics(cfg) {
		var v events.View
		err := kafkaadmin.ReadPartitions(ctx, k, topic, partitions, time.Time{}, func(p int32, rec stream.Record) error {
			if v.Decode(rec.Value) != nil || len(v.EventID) == 0 {
				return nil // the counter has rejected it, or it is a heartbeat
			}
			e := logEvent(&v, rec.TimeMs)
			if !m.Wants(e.CampaignDay) {
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

// logEvent returns an event of the log, as the counter charges it. An event without any time has
// the time of its record.
func logEvent(v *events.View, recordMs int64) reconcile.Event {
	d := reconcile.CampaignDay{
		Account: string(v.Account), Campaign: string(v.Campaign), Day: events.Day(v.BudgetDay), Currency: v.Currency.String(),
	}
	ms := v.EventMs
	if ms <= 0 {
		ms = v.IngestMs
	}
	if ms <= 0 {
		ms = recordMs
	}
	if d.Day == 0 {
		d.Day = events.UTCDay(ms)
	}
	return reconcile.Event{ID: string(v.EventID), CampaignDay: d, Micros: v.PriceMicros}
}
