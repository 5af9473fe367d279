package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/testlimit"
)

// TestReplayRetention: days are closed while the counter runs. A replay from the beginning, which
// reads the same events at another time, has the same rows as the live state.
func TestReplayRetention(t *testing.T) {
	c := shared(t)
	account := produceAt(c, 31, time.Now().AddDate(0, 0, -5), 20_000)
	in := newInstance(c, "a", "spend: {retention: 24h, hours: true}")
	addr, _ := in.start().ready()
	l := startLoad(c, 32, 5_000, 10_000) // its ingest times close the first day
	testlimit.Within(t, "the first day is closed", func(context.Context) error {
		r := weir(t, "spend", "list", "--account", account, "--server", addr, "-o", "csv") //nolint:contextcheck // it has the context of t
		if r.code != 0 {
			return fmt.Errorf("code %d: %s", r.code, r.stderr)
		}
		if !strings.Contains(r.stdout, "closed") {
			return errors.New("no closed day in\n" + r.stdout)
		}
		return nil
	})
	l.finish()
	for _, r := range replay[compared](t, in, 0, "--app", "again", "--server", addr) {
		if !r.Equal || r.ReplayHash == "" {
			t.Errorf("%+v", r)
		}
	}
	replay[compared](t, in, 0, "--app", "again", "--drop")
}

// produceAt produces n events of one second, and heartbeats of that second. It returns an account.
func produceAt(c *cluster, seed uint64, at time.Time, n int) (account string) {
	c.t.Helper()
	gen, err := loadgen.New(loadgen.Config{Seed: seed, StartMs: at.UnixMilli(), Flat: true})
	if err != nil {
		c.t.Fatal(err)
	}
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	first := kgo.AbortingFirstErrPromise(cl)
	for i := range n {
		now := at.UnixMilli() + int64(i)*1000/int64(n)
		for _, r := range gen.Heartbeats(now) {
			cl.Produce(c.t.Context(), &kgo.Record{Topic: events.EventsTopic, Partition: r.Partition, Value: r.Value}, first.Promise())
		}
		e := gen.Next(now)
		account = e.Account
		cl.Produce(c.t.Context(), &kgo.Record{
			Topic: events.EventsTopic, Partition: events.Shard(account, events.DefaultShards), Key: []byte(account), Value: events.AppendEvent(nil, e),
		}, first.Promise())
	}
	if err := errors.Join(cl.Flush(c.t.Context()), first.Err()); err != nil {
		c.t.Fatal(err)
	}
	return account
}
