package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/kafka"
)

// TestSpendAudit: weir spend audit reads the audit of all datacentres, and names the minutes and
// offsets in which one lacks events.
func TestSpendAudit(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two brokers")
	}
	common := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_DATA_DIR=" + t.TempDir()}
	usEnv := append(slices.Clone(common), "WEIR_DC=us")
	us, usAddr := datacentre(t, usEnv, 0)
	env := append(slices.Clone(common), "WEIR_DC=eu", "WEIR_DCS=eu,us="+usAddr)
	_, euAddr := datacentre(t, env, 0)
	env = append(env, "WEIR_KAFKA_BROKERS="+euAddr)

	minute := time.Now().UTC().Truncate(time.Minute).Add(-10 * time.Minute)
	emit := func(addr, dc, origin string, shard int32, n int64, change func(m *eventspb.SpendAudit)) {
		t.Helper()
		p, err := kafka.NewProducer(kafka.Cluster{Brokers: []string{addr}}, events.AuditTopic)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for i := range n {
			m := &eventspb.SpendAudit{
				WriterDc: dc, Shard: shard, Origin: origin, MinuteMs: minute.Add(time.Duration(i) * time.Minute).UnixMilli(),
				FirstOffset: 100 * i, NextOffset: 100 * (i + 1), Events: 10, Micros: 1000, Digest: uint64(i), Begins: i == 0,
			}
			if change != nil {
				change(m)
			}
			value, err := proto.Marshal(m)
			if err == nil {
				err = p.Produce(t.Context(), shard, nil, value)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, env, 0, "no minute was compared", "spend", "audit")
	for shard := range int32(2) {
		emit(euAddr, "eu", "us", shard, 6, nil)
		emit(usAddr, "us", "us", shard, 6, nil)
		emit(euAddr, "eu", "eu", shard, 6, nil)
	}
	expect(t, env, cli.ExitFailed, "the counter of us has no record of the events that eu took in 2 shards", "spend", "audit")
	list := rows(t, env, func([]map[string]any) bool { return true }, "spend", "audit", "--origin", "us")
	if len(list) != 2 || list[1]["counter"] != "us" || list[1]["origin"] != "us" || list[1]["minutes"] != 8.0 || list[1]["events"] != 80.0 ||
		list[1]["through"] != minute.Add(6*time.Minute).Format(time.RFC3339) || list[1]["missing_shards"] != 0.0 {
		t.Errorf("%v", list)
	}
	expect(t, env, cli.ExitUsage, "did you mean us?", "spend", "audit", "--origin", "uss")

	emit(usAddr, "us", "eu", 0, 4, nil)
	emit(usAddr, "us", "eu", 1, 6, func(m *eventspb.SpendAudit) {
		if m.FirstOffset == 300 {
			m.Events, m.Micros, m.Lost = 8, 800, 2
		}
	})
	from := minute.Add(3 * time.Minute)
	want := fmt.Sprintf("the first is shard 1, events that eu took from %s to %s UTC, offsets 300 to 399: the counter of eu has 10 events of 1000 micros; "+
		"the counter of us has 8 events of 800 micros and has lost 2 records", from.Format("2006-01-02 15:04"), from.Add(time.Minute).Format("15:04"))
	expect(t, env, cli.ExitFailed, want, "spend", "audit")
	r := weir(t, env, "spend", "audit", "--differences", "-o", "csv")
	if want := fmt.Sprintf("1,eu,%s,%s,300,400,us,8,800,2,0,0000000000000003\n", from.Format(time.RFC3339), from.Add(time.Minute).Format(time.RFC3339)); r.Code != 1 ||
		!strings.Contains(r.Stdout, want) {
		t.Errorf("code %d:\n%s%swant %s", r.Code, r.Stdout, r.Stderr, want)
	}
	expect(t, env, 0, "", "spend", "audit", "--origin", "us")
	emit(euAddr, "eu", "us", 0, 8, nil)
	expect(t, env, 0, "", "spend", "audit", "--origin", "us")
	expect(t, env, cli.ExitFailed, "the counter of us ends 2m0s before another one with the events that us took (--max-behind 1m0s)",
		"spend", "audit", "--origin", "us", "--max-behind", "1m")

	if err := us.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, env, cli.ExitUnavailable, "the records of us are incomplete in the comparison", "spend", "audit", "--wait", "2s")
}
