package integration

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

const (
	billedShards   = 4
	billedAccounts = 90 // a third in each time zone
	billedZones    = 3
)

// TestBilled: the days of accounts in three time zones of the test end one after the other, and are
// billed by two processes. As soon as records of a zone are there, one of the processes is killed.
// Each day is billed once, by its budgets.
func TestBilled(t *testing.T) {
	onDemand(t, "takes two minutes")
	rng, _ := seeded(t)
	c := empty(t)
	b := &billed{T: t, c: c, zones: t.TempDir(), spent: map[string]map[string]int64{}}
	settings := []string{
		fmt.Sprintf("spend: {partitions: %d, bill_after: 1s}", billedShards), "topics: {replication_factor: 1, min_insync: 1}",
		"processor: {session_timeout: 6s, transaction_timeout: 7s}",
	}
	var instances []*instance
	var processes []*process
	for _, name := range []string{"a", "b"} {
		i := newInstance(c, name, settings...)
		i.roles, i.env = "spendcounter,spendcache,pacing", b.env()
		if instances = append(instances, i); name == "a" {
			if r := weir(t, "topics", "apply", "--for", "spend", "-f", i.config); r.code != 0 {
				t.Fatal(r.stderr)
			}
		}
		processes = append(processes, i.start())
	}
	addr, _ := processes[0].ready()
	processes[1].ready()
	first := b.setBudgets(addr)
	b.produce(rng)
	testlimit.Within(t, "the budgets of all days are noted", func(ctx context.Context) error {
		if n := b.noted(ctx); n < billedAccounts {
			return fmt.Errorf("%d of %d are", n, billedAccounts)
		}
		return nil
	})
	if late := time.Since(first); late > 0 {
		t.Fatalf("the budgets were noted %s after the first day has ended: this machine is too slow for the test", late)
	}
	restart := func(at int) {
		processes[at].kill()
		processes[at] = instances[at].start()
		processes[at].ready()
	}
	for zone := range billedZones {
		testlimit.Within(t, "the first days of a zone are billed", func(ctx context.Context) error {
			if _, zones := b.read(ctx); zones <= zone {
				return fmt.Errorf("days of %d zones are", zones)
			}
			return nil
		})
		restart(rng.IntN(len(processes)))
	}
	testlimit.Within(t, "all days are billed", func(ctx context.Context) error {
		if accounts, _ := b.read(ctx); accounts < billedAccounts {
			return fmt.Errorf("those of %d of %d accounts are", accounts, billedAccounts)
		}
		return nil
	})
	for at := range processes { // the next owners look at all days again
		restart(at)
	}
	pass(t, 15*time.Second)
	b.check()
	for _, p := range processes {
		p.alive()
	}
}

// billed is the accounts of TestBilled, and what they have spent.
type billed struct {
	*testing.T
	c       *cluster
	zones   string                      // directory of time zones
	days    [billedZones]events.Day     // that end
	spent   map[string]map[string]int64 // by account and campaign, micros
	records []*eventspb.BilledSpend     // that were read last
}

// env returns the environment of processes that know the time zones.
func (b *billed) env() []string { return []string{"ZONEINFO=" + b.zones} }

func billedAccount(n int) string { return fmt.Sprintf("account-%d", n) }

// setBudgets makes the time zones, whose days end in a minute and more, and sets the budgets. It
// returns the end of the first day.
func (b *billed) setBudgets(addr string) (first time.Time) {
	b.Helper()
	if err := os.Mkdir(filepath.Join(b.zones, "Test"), 0o700); err != nil {
		b.Fatal(err)
	}
	var lines []string
	for zone := range billedZones {
		end := time.Now().Add(time.Minute + time.Duration(zone)*5*time.Second).Truncate(time.Second)
		if zone == 0 {
			first = end
		}
		east := int32(86_400 - end.Unix()%86_400) // seconds
		if east > 14*3600 {
			east -= 86_400
		}
		b.days[zone] = events.DayOf(end.UnixMilli()-1, time.FixedZone("", int(east)))
		name := fmt.Sprintf("Test/Zone%d", zone)
		if err := os.WriteFile(filepath.Join(b.zones, name), zoneFile(east), 0o600); err != nil {
			b.Fatal(err)
		}
		for n := zone; n < billedAccounts; n += billedZones {
			lines = append(lines, fmt.Sprintf(`{"account":%q,"time_zone":%q,"currency":"EUR","shared":[{"id":"s","daily":"8"}],`+
				`"campaigns":[{"campaign":"own","daily":"5"},{"campaign":"low","shared":"s"},{"campaign":"high","daily":"6","shared":"s"}]}`,
				billedAccount(n), name))
		}
	}
	file := filepath.Join(b.TempDir(), "budgets.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	testlimit.Within(b.T, "the budgets are set", func(context.Context) error { // not while partitions move
		if r := weirIn(b.T, b.env(), "budget", "import", file, "--server", addr); r.code != 0 { //nolint:contextcheck // it has the context of t
			return errors.New(r.stderr)
		}
		return nil
	})
	return first
}

// zoneFile returns a time zone file (RFC 8536) of a zone that is so many seconds east of UTC.
func zoneFile(east int32) []byte {
	f := append([]byte("TZif"), make([]byte, 16)...) // version 1
	for _, n := range []uint32{0, 0, 0, 0, 1, 4} {   // numbers of indicators, leap seconds, transitions, types, and bytes of names
		f = binary.BigEndian.AppendUint32(f, n)
	}
	f = binary.BigEndian.AppendUint32(f, uint32(east))
	return append(f, 0, 0, 'T', 'S', 'T', 0)
}

// produce produces the spend of the days, and some of the days after.
func (b *billed) produce(rng *rand.Rand) {
	b.Helper()
	cl := b.c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	var records []*kgo.Record
	for n := range billedAccounts {
		account, day := billedAccount(n), b.days[n%billedZones]
		b.spent[account] = map[string]int64{}
		for i := range 9 {
			campaign, micros := []string{"own", "low", "high"}[i%3], rng.Int64N(4_000_000)
			if i < 6 {
				b.spent[account][campaign] += micros
			}
			value, err := proto.Marshal(&eventspb.AdEvent{
				EventId: fmt.Sprint(account, "/", i), Account: account, Campaign: campaign, Type: eventspb.EventType_EVENT_TYPE_CLICK,
				PriceMicros: micros, Currency: "EUR", EventMs: time.Now().UnixMilli(), BudgetDay: int32(day.Add(i / 6)),
			})
			if err != nil {
				b.Fatal(err)
			}
			records = append(records, &kgo.Record{
				Topic: events.EventsTopic, Partition: events.Shard(account, billedShards), Key: []byte(account), Value: value,
			})
		}
	}
	if err := cl.ProduceSync(b.Context(), records...).FirstErr(); err != nil {
		b.Fatal(err)
	}
}

// noted returns the number of days whose budgets are in the changelog.
func (b *billed) noted(ctx context.Context) (n int) {
	b.Helper()
	k := kafka.Cluster{Brokers: b.c.addrs()}
	seen := map[string]bool{}
	err := kafkaadmin.ReadTopic(ctx, k, events.PacingTopic("local"), time.Time{}, func(_ int32, r stream.Record) error {
		if len(r.Key) > 1 && r.Key[0] == pacing.TableDays {
			seen[string(r.Key)] = true
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		b.Fatal(err)
	}
	return len(seen)
}

// read reads the topic. It returns the number of accounts whose day is billed, and of zones with
// records.
func (b *billed) read(ctx context.Context) (accounts, zones int) {
	b.Helper()
	k := kafka.Cluster{Brokers: b.c.addrs()}
	b.records = nil
	begun := map[int32]bool{}
	err := kafkaadmin.ReadTopic(ctx, k, events.SpendBilledTopic, time.Time{}, func(_ int32, r stream.Record) error {
		m := &eventspb.BilledSpend{}
		if err := proto.Unmarshal(r.Value, m); err != nil {
			return err
		}
		if b.records = append(b.records, m); m.GetCampaign() == "" {
			accounts++
		}
		begun[int32(m.GetDayEndMs()/1000)] = true
		return nil
	})
	if err != nil && ctx.Err() == nil {
		b.Fatal(err)
	}
	return accounts, len(begun)
}

// check compares the records with what was spent.
func (b *billed) check() {
	b.Helper()
	b.read(b.Context())
	sums := map[string]map[string]*eventspb.BilledSpend{}
	for _, m := range b.records {
		of := sums[m.GetAccount()]
		if of == nil {
			of = map[string]*eventspb.BilledSpend{}
			sums[m.GetAccount()] = of
		}
		if of[m.GetCampaign()] != nil {
			b.Errorf("twice: %v and %v", of[m.GetCampaign()], m)
		}
		of[m.GetCampaign()] = m
	}
	for n := range billedAccounts {
		account := billedAccount(n)
		if err := checkBilled(sums[account], b.spent[account], b.days[n%billedZones]); err != nil {
			b.Errorf("%s: %v\nspent %v\nbilled %v", account, err, b.spent[account], sums[account])
		}
	}
}

// checkBilled compares the records of an account with what was spent.
func checkBilled(got map[string]*eventspb.BilledSpend, spent map[string]int64, day events.Day) error {
	total := got[""]
	if total == nil || len(got) != 4 || total.GetRecords() != 3 {
		return errors.New("not three campaigns and their sums")
	}
	var sum, billed int64
	for campaign, micros := range spent {
		m := got[campaign]
		if m.GetSpentMicros() != micros || m.GetBilledMicros() > micros || events.Day(m.GetBudgetDay()) != day {
			return fmt.Errorf("the spend of %s", campaign)
		}
		sum, billed = sum+micros, billed+m.GetBilledMicros()
	}
	low, high := spent["low"], min(spent["high"], 6e6)
	switch {
	case total.GetSpentMicros() != sum || total.GetBilledMicros() != billed:
		return errors.New("the sums")
	case got["own"].GetBilledMicros() != min(spent["own"], 5e6):
		return errors.New("own is not limited by its budget")
	case got["low"].GetBilledMicros()+got["high"].GetBilledMicros() != min(low+high, 8e6):
		return errors.New("low and high are not limited by theirs")
	case got["low"].GetBilledMicros() > low || got["high"].GetBilledMicros() > high:
		return errors.New("more is billed than a campaign has")
	}
	return nil
}
