package node

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/spendcache"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/stream"
)

func pacingRole() Role {
	return Role{
		Name: "pacing", Group: spendGroup(), Dev: true,
		Summary: "keeps the budgets of accounts and paces their campaigns",
		Weight:  2, Memory: pacingMemory,
		Topics: func(c *config.Config) []stream.Topic { return append(Pacing(c).Topics(), cacheTopics(c)...) },
		// A replay would need the inputs from their begin, and gives the same state anyway.
		Apps:     func(c *config.Config) ([]App, error) { return processorApp(Pacing(c).Processor()) },
		ACLs:     pacingACLs,
		Settings: []string{"dc", "dcs"},
		New:      newPacingPart,
	}
}

// Pacing returns the configuration of pacing.
func Pacing(c *config.Config) pacing.ProcessorConfig {
	return pacing.ProcessorConfig{DC: c.DC, Peers: c.PeerNames(), Layout: SpendCounter(c).Layout, BillAfter: c.Spend.BillAfter}
}

func pacingACLs(c *config.Config) ([]string, error) {
	p, err := Pacing(c).Processor()
	l := SpendCounter(c).Layout
	lines := []string{ // the API writes what it is sent
		"--topic " + l.Name(events.BudgetsTopic) + " --operation Write",
		"--topic " + l.Name(events.PacingOverridesTopic) + " --operation Read --operation Write --operation Describe",
	}
	cache, cacheErr := cacheACLs(c)
	shown := "--topic " + l.Name(events.InsertionsTopic) + " --operation Read --operation Describe"
	lines = append(lines, shown)
	lines = slices.Concat(lines, cache, kafkaadmin.ACLs(p)) // those of a processor end with further uses
	for _, dc := range c.PeerNames() {
		lines = append(lines, "at the Kafka of "+dc+":", shown,
			"--topic "+l.Name(events.PacingTopic(dc))+" --operation Read --operation Describe")
	}
	return lines, cmp.Or(err, cacheErr)
}

// pacedBytes is the memory of a campaign in an account that is paced, whose ads are reported, and
// peerBytes what is added if there are other datacentres.
const (
	pacedBytes = 1300
	peerBytes  = 80
)

// pacingMemory divides the share of pacing: a part is for the accounts, and one for a spend cache
// of its own. The accounts are in memory as a whole, and the state is little read.
func pacingMemory(c *config.Config, share int64) Allocation {
	a := runtimeAllocation(c, share/2, leaseWorkers(c), share/16)
	accounts, each := share*3/16, int64(pacedBytes)
	n := len(c.Peers())
	read := min(accounts/4, int64(1+2*n)*tailBytes(SpendCounter(c).Layout.Partitions()))
	a.Uses = append(a.Uses, Use{"reports", read, "ads that were shown, and packs of other datacentres, that wait for their accounts"})
	accounts -= read
	if n > 0 {
		each += peerBytes
	}
	a.Uses = append(a.Uses, Use{
		"accounts", accounts,
		fmt.Sprintf("of %d campaigns, %d bytes each; more of them take more than the share: raise memory, or let more processes run",
			accounts/each, each),
	})
	cache := cacheMemory(c, share/2)
	a.Share, a.Second = share, &cache
	for _, u := range cache.Uses {
		u.Note += "; of the spend cache, unless the process has the role spendcache"
		a.Uses = append(a.Uses, u)
	}
	return a
}

// pacingPart is pacing, with the spend cache that it reads and the sink of the API.
type pacingPart struct {
	processorPart
	sink      *budgetSink
	overrides *overrides
	cache     *spendcache.Cache // run by this part; nil: by the role spendcache
}

// Ready implements Part: without its spend cache, pacing reads no spend.
func (p pacingPart) Ready(ctx context.Context) Readiness {
	r := p.processorPart.Ready(ctx)
	if p.cache != nil {
		if ready, why := p.cache.Ready(); !ready {
			r.Reasons = append(r.Reasons, why)
		}
	}
	return r
}

// Close implements closer.
func (p pacingPart) Close() {
	p.processorPart.Close()
	p.sink.Close()
	p.overrides.producer.close()
}

// Run implements Part.
func (p pacingPart) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	if p.cache != nil {
		g.Go(func() error { return p.cache.Run(ctx) })
	}
	g.Go(func() error { return p.overrides.run(ctx) })
	g.Go(func() error { return p.processorPart.Run(ctx) })
	return g.Wait()
}

// reader returns the SpendReader. It logs at most once a minute that the spend cannot be read.
func (s cachedSpend) reader(log *zerolog.Logger) pacing.SpendReader {
	var m minute
	return func(ctx context.Context, q pacing.SpendQuery, fn func(*pack.Row)) (pacing.Reading, error) {
		r, err := s.read(ctx, q, fn)
		if err != nil && ctx.Err() == nil && m.first() {
			log.Warn().Str("account", q.Account).Err(err).Msg("spend_unread")
		}
		return r, err
	}
}

// accountProblem returns the ProcessorConfig.Problem that logs, at most once a minute.
func accountProblem(log *zerolog.Logger) func(account string, err error) {
	var m minute
	return func(account string, err error) {
		if m.first() {
			log.Warn().Str("account", account).Err(err).Msg("account_problem")
		}
	}
}

// minute limits lines to one a minute.
type minute struct{ logged atomic.Int64 } // Unix seconds of the last line

// first reports whether a line may be logged now, which counts as logged.
func (m *minute) first() bool {
	now, last := time.Now().Unix(), m.logged.Load()
	return now-last >= 60 && m.logged.CompareAndSwap(last, now)
}

// cachedSpend reads the spend of all datacentres from a cache.
type cachedSpend struct {
	cache *spendcache.Cache
	dcs   []string
}

func (s cachedSpend) read(ctx context.Context, q pacing.SpendQuery, fn func(*pack.Row)) (pacing.Reading, error) {
	query := spendcache.AccountQuery{Account: q.Account, Campaigns: q.Campaigns, From: q.From, Lifetime: q.Lifetime, Parts: q.Parts}
	choice, err := s.cache.Account(ctx, query, func(r spendcache.Row) error {
		row := pack.NewRow(r.Spend, r.Parts)
		fn(&row)
		return nil
	})
	if err != nil {
		return pacing.Reading{}, err
	}
	age := choice.Age(time.Now())
	if age < 0 {
		return pacing.Reading{}, fmt.Errorf("the age of the spend is not known: %s", choice.Text())
	}
	return pacing.Reading{
		Dataset: choice.DC, Exact: choice.Mode == selection.Normal, Age: age,
		CompleteMs: completeMs(choice.Origins, s.dcs), Closed: choice.Closed(),
	}, nil
}

// completeMs returns the ingest time up to which a dataset has the events of all datacentres, Unix
// ms; 0: it has none of one of them.
func completeMs(origins []spendcache.Origin, dcs []string) int64 {
	least := int64(math.MaxInt64)
	for _, dc := range dcs {
		i := slices.IndexFunc(origins, func(o spendcache.Origin) bool { return o.DC == dc })
		if i < 0 {
			return 0
		}
		least = min(least, origins[i].WatermarkMs)
	}
	return least
}

func newPacingPart(s *Setup) (Part, error) {
	cache, own := s.cache.cache, (*spendcache.Cache)(nil)
	if cache == nil {
		memory, cfg := *s.Memory.Second, SpendCache(s.Config)
		cfg.Pacing = false // the process serves no ad servers
		var err error
		if cache, err = s.newSpendCache(cfg, memory); err != nil {
			return nil, err
		}
		own = cache
	}
	cfg := Pacing(s.Config)
	cfg.Instance = s.Config.Instance
	spend := cachedSpend{cache, append(s.Config.PeerNames(), s.Config.DC)}
	cfg.Spend, cfg.Problem = spend.reader(&s.Log), accountProblem(&s.Log)
	others, err := s.otherPacks()
	if err != nil {
		return nil, err
	}
	cfg.OtherPacks = readOtherPacks(others)
	shown, err := s.insertionTails()
	if err != nil {
		return nil, err
	}
	cfg.Insertions = readInsertions(shown)
	operators := newOverrides(s.Kafka, cfg.Layout, s.Log)
	operators.writers = servedWriters(s.Config)
	cfg.Overrides = operators.ofAccount
	proc, err := cfg.Processor()
	if err != nil {
		return nil, err
	}
	part, err := s.processor(proc, nil, func(pc *processors.Config) { pc.BallastBytes, pc.Pins = leaseBallast, &operators.pins })
	if err != nil {
		return nil, err
	}
	s.API.Budgets = &api.BudgetReader{State: part.state, Shards: proc.Partitions}
	s.API.Packs = &api.PackReader{State: part.state, Shards: proc.Partitions}
	sink := newBudgetSink(s.Kafka, Pacing(s.Config).Layout)
	s.API.BudgetSink, s.API.Overrides = sink, operators
	return pacingPart{part, sink, operators, own}, nil
}
