package node

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing/override"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
)

// TestOverrides: an override is in force in the process that writes it when SetLeader returns, and
// in one that starts later. There the last record of a shard holds, also if one before lasts
// longer. Other records are left out. A process that has not read the topic knows that it has not.
func TestOverrides(t *testing.T) {
	layout := events.Layout{Shards: 2}
	b, err := devbroker.Start(devbroker.Config{Topics: events.PacingCatalog("eu", layout)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	topic := layout.Name(events.PacingOverridesTopic)
	start := func() *overrides {
		o := newOverrides(b.Kafka(), layout, zerolog.Nop())
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- o.run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			o.producer.close()
		})
		return o
	}
	awaitRead := func(o *overrides) []*eventspb.LeaderOverride {
		t.Helper()
		for {
			list, err := o.Leaders()
			if err == nil {
				return list
			}
			if !errors.Is(err, errOverridesUnread) || !pause.Poll(t.Context()) {
				t.Fatal(err)
			}
		}
	}
	given := func(leader string, at time.Time, lasts time.Duration) *eventspb.LeaderOverride {
		return &eventspb.LeaderOverride{Shard: 1, Leader: leader, AtMs: at.UnixMilli(), UntilMs: at.Add(lasts).UnixMilli()}
	}
	p, err := kafka.NewProducer(b.Kafka(), topic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	for key, value := range map[string][]byte{"leader/1": {0xff}, "leader/x": nil, "other": {1}} {
		if err := p.Produce(t.Context(), 1, []byte(key), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := start()
	awaitRead(a)
	now := time.Now()
	for _, leader := range []string{"b", "c"} { // the clock may be behind that of the one before
		if err := a.SetLeader(t.Context(), given(leader, now, time.Hour)); err != nil {
			t.Fatal(err)
		}
		if l := awaitRead(a); len(l) != 1 || l[0].GetLeader() != leader {
			t.Errorf("overrides %v, want %s", l, leader)
		}
		now = now.Add(-time.Second)
	}
	if l := awaitRead(start()); len(l) != 1 || l[0].GetLeader() != "c" {
		t.Errorf("overrides %v", l)
	}
	if err := a.SetLeader(t.Context(), override.Leaders().Withdraw(awaitRead(a)[0], time.Now())); err != nil || len(awaitRead(a)) != 0 {
		t.Errorf("overrides %v, error %v", awaitRead(a), err)
	}
	if err := a.SetLeader(t.Context(), given("d", now, time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := a.SetLeader(t.Context(), given("e", now.Add(-time.Hour), time.Minute)); err != nil { // it has ended
		t.Fatal(err)
	}
	if l := awaitRead(start()); len(l) != 0 {
		t.Errorf("an override that was replaced is in force: %v", l)
	}
	campaign := func(probability float64, lasts time.Duration) *eventspb.CampaignOverride {
		at := time.Now()
		return &eventspb.CampaignOverride{
			Account: "acme", Campaign: "spring", Probability: probability, AtMs: at.UnixMilli(), UntilMs: at.Add(lasts).UnixMilli(),
		}
	}
	for _, probability := range []float64{0, 0.5} {
		if err := a.SetCampaign(t.Context(), campaign(probability, time.Hour)); err != nil {
			t.Fatal(err)
		}
		list := a.ofAccount("acme")
		if other := a.ofAccount("other"); len(list) != 1 || list[0].GetProbability() != probability || len(other) > 0 {
			t.Errorf("overrides %v, of another account %v", list, other)
		}
	}
	later := start()
	awaitRead(later)
	if list, err := later.Campaigns(); err != nil || len(list) != 1 || list[0].GetProbability() != 0.5 {
		t.Errorf("overrides %v, error %v", list, err)
	}
	if err := a.SetCampaign(t.Context(), override.Campaigns().Withdraw(campaign(0.5, time.Hour), time.Now())); err != nil {
		t.Fatal(err)
	}
	inForce, err := a.Campaigns()
	if last := a.ofAccount("acme"); err != nil || len(inForce) > 0 || len(last) != 1 || override.InForce(last[0], time.Now()) {
		t.Errorf("overrides %v, the last one %v, error %v after the withdrawal", inForce, last, err)
	}
	behind := campaign(0, time.Hour) // of a process whose clock is behind
	behind.AtMs, behind.UntilMs = behind.AtMs-60_000, behind.UntilMs-60_000
	if err := a.SetCampaign(t.Context(), behind); err != nil {
		t.Fatal(err)
	}
	if list, err := a.Campaigns(); err != nil || len(list) != 1 || list[0].GetUntilMs()-list[0].GetAtMs() != time.Hour.Milliseconds() {
		t.Errorf("overrides %v, error %v", list, err)
	}
	testWriterOverride(t, a, start, func() *writerOverride { return newWriterOverride(b.Kafka(), layout, zerolog.Nop()) })
	if err := a.SetCampaign(t.Context(), campaign(0.5, time.Hour+24*time.Hour)); err == nil {
		t.Error("an override of 25 hours is written")
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.SetLeader(ended, given("f", now, time.Hour)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := a.Processes(t.Context()); err != nil {
		t.Error(err)
	}
	missing := newOverrides(b.Kafka(), layout, zerolog.Nop())
	missing.topic = "missing"
	if err := missing.follow(t.Context()); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a topic that does not exist: %v", err)
	}
	if l, err := missing.Leaders(); !errors.Is(err, errOverridesUnread) {
		t.Errorf("overrides %v, error %v", l, err)
	}
}

// testWriterOverride: the last override of the writer is in force in the process that writes it, in
// the spend caches, and in those that start later, until it is withdrawn.
func testWriterOverride(t *testing.T, a *overrides, start func() *overrides, cache func() *writerOverride) {
	t.Helper()
	running := runWriterOverride(t, cache())
	await := func(c *writerOverride, want string) {
		t.Helper()
		for c.writer(time.Now()) != want {
			if !pause.Poll(t.Context()) {
				t.Fatalf("the spend cache serves %q, want %q", c.writer(time.Now()), want)
			}
		}
	}
	now := time.Now()
	given := &eventspb.WriterOverride{AtMs: now.UnixMilli(), UntilMs: now.Add(time.Hour).UnixMilli()}
	for _, writer := range []string{"us", "ap"} {
		given = proto.CloneOf(given)
		given.Writer = writer
		if err := a.SetWriter(t.Context(), given); err != nil {
			t.Fatal(err)
		}
		if w, err := a.Writer(); err != nil || w.GetWriter() != writer {
			t.Errorf("%v, %v", w, err)
		}
		await(running, writer)
	}
	if got := running.writer(now.Add(time.Hour)); got != "" {
		t.Errorf("after its end the override is %q", got)
	}
	await(runWriterOverride(t, cache()), "ap")
	later := start()
	for _, err := later.Leaders(); errors.Is(err, errOverridesUnread) && pause.Poll(t.Context()); {
		_, err = later.Leaders()
	}
	if w, err := later.Writer(); err != nil || w.GetWriter() != "ap" {
		t.Errorf("%v, %v in a process that starts later", w, err)
	}
	if err := a.SetWriter(t.Context(), override.Writers().Withdraw(given, time.Now())); err != nil {
		t.Fatal(err)
	}
	if w, err := a.Writer(); err != nil || w != nil {
		t.Errorf("%v, %v after the withdrawal", w, err)
	}
	await(running, "")
}

// runWriterOverride runs w until the end of the test.
func runWriterOverride(t *testing.T, w *writerOverride) *writerOverride {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return w
}

// TestLastWriter: a clock that is ahead makes an override no longer than a day, also if the topic
// is read again.
func TestLastWriter(t *testing.T) {
	var last lastWriter
	if w := last.inForce(time.Now()); w != nil {
		t.Error(w)
	}
	now := time.Now()
	ahead := &eventspb.WriterOverride{Writer: "us", AtMs: now.Add(48 * time.Hour).UnixMilli(), UntilMs: now.Add(50 * time.Hour).UnixMilli()}
	if w := last.take(ahead); w.GetUntilMs() > time.Now().Add(override.MaxFor).UnixMilli() {
		t.Errorf("%v", w)
	}
	if w := last.take(proto.CloneOf(ahead)); w != nil {
		t.Errorf("%v is taken again", w)
	}
	if w := last.inForce(now.Add(23 * time.Hour)); w.GetWriter() != "us" {
		t.Errorf("%v", w)
	}
	if w := last.inForce(now.Add(25 * time.Hour)); w != nil {
		t.Errorf("%v after a day", w)
	}
}
