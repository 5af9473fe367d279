package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// rawState is partition 0 of a state into which a test puts any row.
type rawState struct {
	t      *testing.T
	sink   *kafka.Producer
	reader *StateReader
	puts   int64
}

func newRawState(t *testing.T) *rawState {
	t.Helper()
	k := startBroker(t)
	rt, err := processors.New(processors.Config{Kafka: k, Dir: t.TempDir(), Instance: "raw", Workers: 1, CommitInterval: 10 * time.Millisecond}, stream.Processor{
		App: spendcounter.App, Inputs: []string{events.EventsTopic}, Changelog: events.SpendTopic("local"),
		New: stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
			c.Put(r.Key[0], r.Key[1:], r.Value)
			return nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	sink, err := kafka.NewProducer(k, events.EventsTopic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sink.Close)
	return &rawState{t: t, sink: sink, reader: NewStateReader(rt, CheckSpend)}
}

func (r *rawState) put(table byte, key []byte, m proto.Message) {
	r.t.Helper()
	value, err := proto.Marshal(m)
	if err != nil {
		r.t.Fatal(err)
	}
	r.putValue(table, key, value)
}

func (r *rawState) putValue(table byte, key, value []byte) {
	r.t.Helper()
	if err := r.sink.Produce(r.t.Context(), 0, append([]byte{table}, key...), value); err != nil {
		r.t.Fatal(err)
	}
	r.puts++
}

// page waits until all rows are committed, and reads the task record.
func (r *rawState) page() error {
	r.t.Helper()
	if err := r.sink.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	var failed error
	testlimit.Within(r.t, "the rows are committed", func(ctx context.Context) error {
		i := slices.IndexFunc(r.reader.runtime.Status(), func(s processors.Status) bool { return s.Partition == 0 })
		if i < 0 || r.reader.runtime.Status()[i].Next[events.EventsTopic] < r.puts {
			return errors.New("not yet")
		}
		page, err := r.reader.Page(ctx, api.PageQuery{Table: spendcounter.TableTask, Limit: 1})
		if failed = err; err == nil && page.AsOf.NextOffsets[events.EventsTopic] < r.puts {
			return errors.New("the store is behind")
		}
		return nil
	})
	return failed
}

func (r *rawState) campaigns(q api.SpendScan) (got []string) {
	r.t.Helper()
	_, err := r.reader.Spends(r.t.Context(), q, func(_ []byte, s *eventspb.Spend) error {
		got = append(got, s.Campaign)
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// charged is the part of a Spend with one event.
func charged(micros, refunded int64) []*eventspb.SpendByDC {
	return []*eventspb.SpendByDC{{ServingDc: "eu", ChargedMicros: micros, RefundedMicros: refunded, Events: []*eventspb.TypeCount{{Type: 1, Count: 1}}}}
}

// TestSpends reads states that a counter has not had time to rank, ranked states, and states of
// another layout.
func TestSpends(t *testing.T) {
	r := newRawState(t)
	task := &spendpb.TaskState{TimestampMs: 1, Layout: 2, Unranked: true}
	r.put(spendcounter.TableTask, []byte(spendcounter.TaskKey), task)
	usd, eur := events.Currency('U'<<16|'S'<<8|'D'), events.Currency('E'<<16|'U'<<8|'R')
	for i, c := range []events.Currency{usd, eur, usd, usd} {
		s := &eventspb.Spend{Account: []string{"a", "ab"}[i%2], Campaign: fmt.Sprint("c", i), BudgetDay: 20240101 + int32(i/3), Currency: c.String(), ByDc: charged(int64(i)+1, 0)}
		r.put(spendcounter.TableSpend, spendcounter.AppendKey(nil, []byte(s.Account), []byte(s.Campaign), events.Day(s.BudgetDay), c), s)
	}
	life := &eventspb.Spend{Account: "b", Campaign: "c5", Currency: "USD"}
	r.put(spendcounter.TableSpend, spendcounter.AppendKey(nil, []byte("b"), []byte("c5"), 0, usd), life)
	day := &eventspb.Spend{Account: "b", Campaign: "c6", BudgetDay: 20240101, Currency: "USD", Hours: []*eventspb.HourSpend{{Hour: 7}}, ByDc: charged(5, 2)}
	key := spendcounter.AppendKey(nil, []byte("b"), []byte("c6"), 20240101, usd)
	r.put(spendcounter.TableSpend, key, day)
	r.put(spendcounter.TableHours, append(key, 0, 0, 0, 6), &eventspb.SpendHour{Hour: &eventspb.HourSpend{Hour: 6}})
	for _, p := range []*eventspb.PartSpend{{LineItem: "l"}, {LineItem: "l", Arm: "x"}} {
		own := append(slices.Clone(key), 0, byte(len(p.LineItem)))
		own = append(append(own, p.LineItem...), 0, byte(len(p.Arm)))
		r.put(spendcounter.TableParts, append(own, p.Arm...), &eventspb.SpendPart{Part: p})
	}
	if err := r.page(); err != nil {
		t.Fatal(err)
	}
	var parts []string
	part := func(p *eventspb.PartSpend) { parts = append(parts, p.LineItem+"/"+p.Arm) }
	if _, err := r.reader.Spends(t.Context(), api.SpendScan{Account: "b", Part: part}, func(_ []byte, s *eventspb.Spend) error {
		parts = append(parts, s.Campaign)
		return nil
	}); err != nil || strings.Join(parts, " ") != "c5 l/ l/x c6" {
		t.Errorf("campaign days with their parts before them: %q, %v", parts, err)
	}
	for _, hours := range []bool{false, true} {
		if _, err := r.reader.Spends(t.Context(), api.SpendScan{Account: "b", FirstDay: 1, Hours: hours}, func(_ []byte, s *eventspb.Spend) error {
			if hours != (len(s.Hours) == 2) {
				t.Errorf("with hours %t: %v", hours, s.Hours)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		q    api.SpendScan
		want string
	}{
		{api.SpendScan{Account: "a"}, "c0 c2"},
		{api.SpendScan{Account: "a", From: []byte("a\x00c1")}, "c2"},
		{api.SpendScan{Account: "a", From: []byte("ab\x00")}, ""},
		{api.SpendScan{Account: "ab"}, "c1 c3"},
		{api.SpendScan{Account: "ab", FirstDay: 20240102}, "c3"},
		{api.SpendScan{Account: "ab", LastDay: 20240101}, "c1"},
		{api.SpendScan{Account: "ab", Currency: "USD"}, "c3"},
		{api.SpendScan{Account: "b"}, "c5 c6"},
		{api.SpendScan{Account: "b", FirstDay: 20240101}, "c6"},
		{api.SpendScan{Account: "b", LastDay: 20240101}, "c6"},
		{api.SpendScan{FirstDay: 20240101, LastDay: 20240101}, "c0 c2 c1 c6"},
		{api.SpendScan{FirstDay: 20240101, LastDay: 20240101, Currency: "EUR"}, "c1"},
		{api.SpendScan{FirstDay: 20240101, LastDay: 20240102}, "c0 c2 c1 c3 c6"},
	} {
		if got := strings.Join(r.campaigns(x.q), " "); got != x.want {
			t.Errorf("%+v: %s, want %s", x.q, got, x.want)
		}
	}
	totals := func(q api.SpendScan) (got string) {
		q.Total = func(t *weirpb.CurrencyTotal) error {
			got += fmt.Sprint(" ", t.GetCurrency(), " ", t.GetChargedMicros(), " ", t.GetRefundedMicros(), " ", t.GetEvents())
			return nil
		}
		r.campaigns(q)
		return got
	}
	for _, x := range []struct {
		q    api.SpendScan
		want string
	}{
		{api.SpendScan{FirstDay: 20240101, LastDay: 20240101}, " EUR 2 0 1 USD 9 2 3"},
		{api.SpendScan{FirstDay: 20240101, LastDay: 20240101, Currency: "USD"}, " USD 9 2 3"},
		{api.SpendScan{FirstDay: 20240101, LastDay: 20240101, Account: "a"}, " USD 4 0 2"},
		{api.SpendScan{FirstDay: 20240101, LastDay: 20240102}, " EUR 2 0 1 USD 13 2 4"},
	} {
		if got := totals(x.q); got != x.want {
			t.Errorf("%+v: totals%s, want%s", x.q, got, x.want)
		}
	}
	task.Unranked, task.Rankings = false, 1
	r.put(spendcounter.TableTask, []byte(spendcounter.TaskKey), task)
	r.putValue(spendcounter.TableRanking, append(spendcounter.RankingPrefix(20240101), "USDa\x00c2"...), []byte{1})
	r.putValue(spendcounter.TableRanking, append(spendcounter.RankingPrefix(20240101), "EURab\x00c1"...), []byte{2})
	if err := r.page(); err != nil {
		t.Fatal(err)
	}
	for byEvents, want := range map[bool]string{false: "c2", true: "c1"} {
		if got := r.campaigns(api.SpendScan{FirstDay: 20240101, LastDay: 20240101, ByEvents: byEvents}); !slices.Equal(got, []string{want}) {
			t.Errorf("the ranking has %s, read were %v", want, got)
		}
	}
	for q, want := range map[[2]int32]string{{20240101, 20240102}: "c0 c2 c1 c3 c6", {20240102, 0}: "c3", {0, 20240101}: "c0 c2 c1 c6"} {
		if got := strings.Join(r.campaigns(api.SpendScan{FirstDay: q[0], LastDay: q[1]}), " "); got != want {
			t.Errorf("days %d, which no ranking has: %s, want %s", q, got, want)
		}
	}
	r.put(spendcounter.TableTotals, append(spendcounter.RankingPrefix(20240101), "USD"...), &spendpb.Total{ChargedMicros: 7, RefundedMicros: 2, Events: 3})
	r.put(spendcounter.TableTotals, append(spendcounter.RankingPrefix(20240102), "USD"...), &spendpb.Total{ChargedMicros: 8})
	r.put(spendcounter.TableTotals, append(spendcounter.RankingPrefix(20240101), "EUR"...), &spendpb.Total{ChargedMicros: 5})
	if err := r.page(); err != nil {
		t.Fatal(err)
	}
	if got := totals(api.SpendScan{FirstDay: 20240101, LastDay: 20240101}); got != " EUR 5 0 0 USD 7 2 3" {
		t.Errorf("totals of the store:%s", got)
	}
	if got := totals(api.SpendScan{FirstDay: 20240101, LastDay: 20240101, Currency: "USD"}); got != " USD 7 2 3" {
		t.Errorf("totals of the store in USD:%s", got)
	}
	task.Layout = 0
	r.put(spendcounter.TableTask, []byte(spendcounter.TaskKey), task)
	var gaps *api.PartitionsError
	if err := r.page(); !errors.As(err, &gaps) || !strings.Contains(err.Error(), "another layout") {
		t.Errorf("a state of another layout: %v", err)
	}
}

// BenchmarkLists measures lists over all partitions of one process, in wall time and in processor
// time of the whole process. The number of
// campaigns is WEIR_TEST_BENCH_CAMPAIGNS, 24,000 by default; accounts have ten each.
func BenchmarkLists(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("WEIR_TEST_BENCH_CAMPAIGNS"))
	if err != nil {
		n = 24_000
	}
	k := startBroker(b)
	p := startPeer(b, k, "a")
	running(b, map[*peer]int{p: 24})
	produce(b, k, n, func(i int) (account, campaign string) {
		return fmt.Sprint("account-", i/10), fmt.Sprint("campaign-", i)
	})
	testlimit.Within(b, "all events are counted", func(ctx context.Context) error {
		_, err := p.client.GetSpend(ctx, &weirpb.GetSpendRequest{Campaign: "campaign-0", Wait: true})
		return err
	})
	today := time.Now().UTC().Format(time.DateOnly)
	for name, ask := range map[string]func() (int, error){
		"top": func() (int, error) {
			res, err := p.client.TopSpend(b.Context(), &weirpb.TopSpendRequest{Day: today})
			return len(res.GetRows()), err
		},
		"top of several days": func() (int, error) {
			res, err := p.client.TopSpend(b.Context(), &weirpb.TopSpendRequest{To: today})
			return len(res.GetRows()), err
		},
		"list": func() (int, error) {
			res, err := p.client.ListSpend(b.Context(), &weirpb.ListSpendRequest{Account: "account-1"})
			return len(res.GetRows()), err
		},
		"show": func() (int, error) {
			_, err := p.client.GetSpend(b.Context(), &weirpb.GetSpendRequest{Campaign: "campaign-7"})
			return 1, err
		},
	} {
		b.Run(name, func(b *testing.B) {
			rows := 0
			var from, to syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &from); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if rows, err = ask(); err != nil {
					b.Fatal(err)
				}
			}
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &to); err != nil {
				b.Fatal(err)
			}
			cpu := to.Utime.Nano() + to.Stime.Nano() - from.Utime.Nano() - from.Stime.Nano()
			b.ReportMetric(float64(cpu)/float64(b.N)/1e6, "cpu-ms/op")
			b.ReportMetric(float64(rows), "rows")
			b.ReportMetric(float64(n), "campaigns")
		})
	}
}
