package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors/kafka"
)

// poller polls for campaign c of account acme.
type poller struct {
	t    testing.TB
	sink *kafka.Producer
	req  weirpb.PollSpendRequest
	late []time.Duration // how long after its commit each answer came
	n    int             // events of the campaign
}

// charge produces an event of a campaign of the account.
func (p *poller) charge(campaign string) {
	p.n++
	now := time.Now().UnixMilli()
	e := &eventspb.AdEvent{
		EventId: fmt.Sprint("e", p.n), Account: "acme", Campaign: campaign, Currency: "USD", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION,
		PriceMicros: 1, EventMs: now, IngestMs: now, ServingDc: "local",
	}
	if err := p.sink.Produce(p.t.Context(), events.Shard("acme", events.DefaultShards), []byte("acme"), events.AppendEvent(nil, e)); err != nil {
		p.t.Error(err)
	}
	if err := p.sink.Flush(p.t.Context()); err != nil {
		p.t.Error(err)
	}
}

// ask sends the poll to a process, and makes it the poll for the next answer.
func (p *poller) ask(ctx context.Context, from *peer) (*weirpb.GetSpendResponse, error) {
	res, err := from.client.PollSpend(ctx, &p.req)
	if err != nil || res.Spend == nil {
		return nil, err
	}
	// The commit is given in whole milliseconds: the time is up to 1 ms too long.
	p.late = append(p.late, time.Since(time.UnixMilli(res.Spend.AsOf.AppliedMs)))
	p.req.Version, p.req.Spend.Wait = res.Version, false
	return res.Spend, nil
}

// report checks and forgets how late the answers were. On a busy machine most may be late:
// TestWatch of package processors and TestPoll of package api check the time without the machine.
func (p *poller) report(how string) {
	p.t.Helper()
	slices.Sort(p.late)
	median := p.late[len(p.late)/2]
	p.t.Logf("%s: %d answers after their commit: median %s, p99 %s", how, len(p.late), median, p.late[len(p.late)*99/100])
	if p.late[0] > 50*time.Millisecond {
		p.t.Errorf("%s: all answers came more than %s after their commit", how, p.late[0])
	}
	p.late = nil
}

// BenchmarkPoll measures how long after the commit that concerns it a parked poll is answered by
// the owner of its partition, over HTTP. Use -benchtime 1000x for a p99.
func BenchmarkPoll(b *testing.B) {
	k := startBroker(b)
	a := startPeer(b, k, "a")
	running(b, map[*peer]int{a: 24})
	sink, err := kafka.NewProducer(k, events.EventsTopic)
	if err != nil {
		b.Fatal(err)
	}
	defer sink.Close()
	p := &poller{t: b, sink: sink}
	p.req.Spend = &weirpb.GetSpendRequest{Campaign: "c", Account: "acme", Wait: true}
	p.charge("c")
	if _, err := p.ask(b.Context(), a); err != nil {
		b.Fatal(err)
	}
	p.late = nil
	for b.Loop() {
		ended := make(chan error, 1)
		go func() {
			s, err := p.ask(b.Context(), a)
			if err == nil && s == nil {
				err = errors.New("the poll ended without a change")
			}
			ended <- err
		}()
		testlimit.Within(b, "the poll is parked", func(context.Context) error {
			if n := a.parked(); n != 1 {
				return fmt.Errorf("%v requests are parked", n)
			}
			return nil
		})
		p.charge("c")
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(p.late)
	for name, late := range map[string]time.Duration{
		"p50-ms": p.late[len(p.late)/2], "p99-ms": p.late[len(p.late)*99/100], "max-ms": p.late[len(p.late)-1],
	} {
		b.ReportMetric(late.Seconds()*1000, name)
	}
}

// TestPoll sends polls to the process that owns the partition, and to another one. They are
// answered soon after the commit that concerns them. When the owner leaves, the poll is answered,
// and the same poll then finds the new owner.
func TestPoll(t *testing.T) {
	k := startBroker(t)
	a := startPeer(t, k, "a")
	running(t, map[*peer]int{a: 24})
	sink, err := kafka.NewProducer(k, events.EventsTopic)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	p := &poller{t: t, sink: sink}
	p.req.Spend = &weirpb.GetSpendRequest{Campaign: "c", Account: "acme", Wait: true}
	p.charge("c")
	first, err := p.ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	counted, other := first.Events, (*peer)(nil)
	changes := func(how string, times int, from *peer) (owner string) {
		t.Helper()
		p.late = nil
		for range times {
			p.charge("other")
			answer := make(chan *weirpb.GetSpendResponse, 1)
			go func() {
				s, err := p.ask(t.Context(), from)
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				answer <- s
			}()
			p.charge("c")
			s := <-answer
			if counted++; s.GetEvents() != counted {
				t.Fatalf("%s: %v, want %d events", how, s, counted)
			}
			owner = s.AsOf.ServedBy.Instance
		}
		p.report(how)
		return owner
	}
	changes("owner", 20, a)

	b := startPeer(t, k, "b")
	running(t, map[*peer]int{a: 12, b: 12})
	owner := a
	if other = b; changes("after a move", 2, b) == "b" {
		owner, other = b, a
	}
	changes("forwarded", 12, other)

	ended := make(chan error, 1)
	go func() {
		_, err := p.ask(t.Context(), other)
		ended <- err
	}()
	testlimit.Within(t, "the poll is parked at the owner", func(context.Context) error {
		if n := owner.parked(); n != 1 {
			return fmt.Errorf("%v requests are parked", n)
		}
		return nil
	})
	owner.stop()
	if err := <-ended; err != nil && (connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), owner.name)) {
		t.Errorf("the owner has left: %v", err)
	}
	running(t, map[*peer]int{other: 24})
	p.charge("c")
	testlimit.Within(t, "the new owner answers", func(ctx context.Context) error {
		s, err := p.ask(ctx, other)
		if err == nil && s.GetEvents() != counted+1 {
			err = fmt.Errorf("%v, want %d events", s, counted+1)
		}
		return err
	})
}
