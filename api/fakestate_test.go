package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/keywatch"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// fakePart is a partition in a process.
type fakePart struct {
	state   string // owner, standby, or the state of a gap
	staleMs int64
	keys    map[string][]byte // of table 1
	spends  []*eventspb.Spend // ordered by account, campaign, day and currency
}

// fakeState is a StateSource in memory.
type fakeState struct {
	instance string
	mu       sync.Mutex
	parts    map[int32]*fakePart
	watches  map[int32]*keywatch.Set
	asked    int
	during   func(ctx context.Context) error // before an answer
}

const fakePartitions = 4

func (f *fakeState) Info() StateInfo {
	return StateInfo{App: "counter", Instance: f.instance, Partitions: fakePartitions, Tables: []stream.TableInfo{
		{
			Number: 1, Name: "spend", Value: state.ToJSON(state.Proto[*eventspb.Spend]{}),
			Partition: func(key []byte) (int32, bool) { return int32(key[0]) % fakePartitions, key[0] < 0x80 },
		},
		{Number: 9, Name: "opaque"},
	}}
}

// look returns the partition if it can be read.
func (f *fakeState) look(ctx context.Context, p int32, maxStaleness time.Duration) (*fakePart, *weirpb.AsOf, error) {
	if f.during != nil {
		if err := f.during(ctx); err != nil {
			return nil, nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	part := f.parts[p]
	no := func(state, reason string) error {
		return &PartitionsError{Gaps: []PartitionGap{{Partition: p, State: state, Reason: reason}}}
	}
	by := &weirpb.ServedBy{Instance: f.instance, Role: "owner"}
	switch {
	case part == nil:
		return nil, nil, no(StateRemote, "")
	case part.state == "owner":
	case part.state == StateStandby && maxStaleness == 0:
		return nil, nil, no(StateStandby, "")
	case part.state == StateStandby && part.staleMs > maxStaleness.Milliseconds():
		return nil, nil, no(StateStandby, fmt.Sprintf("%d ms old", part.staleMs))
	case part.state == StateStandby:
		by.Role, by.StalenessMs = StateStandby, part.staleMs
	default:
		return nil, nil, no(part.state, "42 % done")
	}
	return part, &weirpb.AsOf{Partition: p, NextOffsets: map[string]int64{"ads.events": 100 + int64(p)}, ChangelogNext: 7, OwnerEpoch: 3, ServedBy: by}, nil
}

func (f *fakeState) Page(ctx context.Context, q PageQuery) (*Page, error) {
	part, asOf, err := f.look(ctx, q.Partition, q.MaxStaleness)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	page := &Page{AsOf: asOf}
	size := 0
	for _, k := range slices.Sorted(maps.Keys(part.keys)) {
		switch {
		case q.Table != 1 || k < string(q.From) || q.To != nil && k >= string(q.To):
		case len(page.Entries) >= q.Limit || size >= MaxPageBytes:
			page.More = true
			return page, nil
		default:
			size += len(k) + len(part.keys[k])
			page.Entries = append(page.Entries, Entry{[]byte(k), part.keys[k]})
		}
	}
	return page, nil
}

// Spends returns all campaign days of the first day if there is no account.
func (f *fakeState) Spends(ctx context.Context, q SpendScan, fn SpendFunc) (*weirpb.AsOf, error) {
	part, asOf, err := f.look(ctx, q.Partition, q.MaxStaleness)
	if err != nil {
		return nil, err
	}
	for _, s := range part.spends {
		key := fmt.Sprintf("%s\x00%d%s", s.Campaign, s.BudgetDay, s.Currency)
		if q.Account != "" && s.Account != q.Account || key < string(q.From) || s.BudgetDay < q.FirstDay || q.LastDay != 0 && (s.BudgetDay == 0 || s.BudgetDay > q.LastDay) ||
			q.Currency != "" && s.Currency != q.Currency {
			continue
		}
		if err := fn([]byte(key), s); errors.Is(err, stream.ErrStopScan) {
			break
		} else if err != nil {
			return nil, err
		}
		if q.Total != nil { // one for each campaign day: the callers add them
			t := &weirpb.CurrencyTotal{Currency: s.Currency}
			for _, by := range s.ByDc {
				t.ChargedMicros, t.RefundedMicros = t.ChargedMicros+by.ChargedMicros, t.RefundedMicros+by.RefundedMicros
				for _, n := range by.Events {
					t.Events += n.Count
				}
			}
			if err := q.Total(t); err != nil {
				return nil, err
			}
		}
	}
	return asOf, nil
}

func (f *fakeState) Hash(ctx context.Context, p int32, maxStaleness time.Duration) (*weirpb.PartitionHash, error) {
	part, asOf, err := f.look(ctx, p, maxStaleness)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Append(nil, slices.Sorted(maps.Keys(part.keys))))
	return &weirpb.PartitionHash{AsOf: asOf, Tables: []*weirpb.TableHash{{Table: 1, Keys: int64(len(part.keys)), Hash: sum[:]}}}, nil
}

func (f *fakeState) put(p int32, key, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.parts == nil {
		f.parts = map[int32]*fakePart{}
	}
	if f.parts[p] == nil {
		f.parts[p] = &fakePart{state: "owner", keys: map[string][]byte{}}
	}
	f.parts[p].keys[key] = []byte(value)
}

func (f *fakeState) remove(p int32, key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.parts[p].keys, key)
}

// is sets the state of the partition in this process.
func (f *fakeState) is(p int32, state string, staleMs int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.parts[p].state, f.parts[p].staleMs = state, staleMs
}

func (f *fakeState) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// fakePeers is the answer of the brokers.
type fakePeers struct {
	mu    sync.Mutex
	list  []Peer
	err   error
	asked int
	block chan struct{} // nil: answers at once
}

func (f *fakePeers) Peers(ctx context.Context) ([]Peer, error) {
	f.mu.Lock()
	f.asked++
	list, err, block := slices.Clone(f.list), f.err, f.block
	f.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return list, err
}

func (f *fakePeers) set(err error, list ...Peer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list, f.err = list, err
}

func (f *fakePeers) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

var errNoBroker = errors.New("no broker answers")

// member is a process that serves a fakeState.
type member struct {
	*fakeState
	addr   string
	client *Client
	router *Router
}

// app is the application of m, without tasks.
func (m *member) app() App {
	return App{Name: "counter", Instance: m.instance, Tasks: &fakeCluster{}, State: m.router}
}

// appOf is the application of a process with state f.
func appOf(f *fakeState, peers PeerSource) App {
	return (&member{fakeState: f, router: NewRouter(RouterConfig{State: f, Peers: peers})}).app()
}

// start serves f with the given peers.
func start(t *testing.T, f *fakeState, peers PeerSource, change func(*Config)) *member {
	t.Helper()
	m := &member{fakeState: f, router: NewRouter(RouterConfig{State: f, Peers: peers})}
	t.Cleanup(m.router.Close)
	cfg := config()
	cfg.Registry = obs.NewRegistry("test")
	cfg.Apps, cfg.SpendApp = []App{m.app()}, "counter"
	cfg.tasks(&fakeCluster{})
	if change != nil {
		change(&cfg)
	}
	s := mustNew(t, cfg)
	run(t, s)
	m.addr = s.Addr()
	m.client = NewClientWith(ClientConfig{Server: s.Addr(), Token: cfg.Token})
	t.Cleanup(m.client.Close)
	return m
}

func (m *member) peer(partitions ...int32) Peer {
	return Peer{Instance: m.instance, Endpoint: m.addr, Partitions: partitions}
}

// age makes m's cached peers so old that it asks again when it refreshes them.
func (m *member) age() {
	m.router.peers.mu.Lock()
	defer m.router.peers.mu.Unlock()
	m.router.peers.at = m.router.peers.at.Add(-maxPeersAge)
}

// forget clears m's cached peers.
func (m *member) forget() {
	m.router.peers.mu.Lock()
	defer m.router.peers.mu.Unlock()
	m.router.peers.at, m.router.peers.list = time.Time{}, nil
}

// WatchSpend watches the whole partition.
func (f *fakeState) WatchSpend(q SpendWatch) (<-chan struct{}, func(), error) {
	if _, _, err := f.look(context.Background(), q.Partition, 0); err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watches == nil {
		f.watches = map[int32]*keywatch.Set{}
	}
	if f.watches[q.Partition] == nil {
		f.watches[q.Partition] = &keywatch.Set{}
	}
	changed, stop, _ := f.watches[q.Partition].Add(nil)
	return changed, stop, nil
}
