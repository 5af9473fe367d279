package spendcounter

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// store is the runtime's side of a task in memory: tables, outputs, committed offsets.
type store struct {
	tables    map[byte]map[string][]byte
	healths   []string               // values of TableHealth, in order
	audits    []*eventspb.SpendAudit // emitted, in order
	next      map[string]int64
	sequence  uint64
	partition int32
	gets      int
	ranged    int              // rows of TableSpend that Range has passed on
	localNext map[string]int64 // next offsets of the local tables; nil: the tables are lost

	committed func(cm stream.Commit, list []stream.Change) // is called with each transaction of flush, unless it is nil
}

func newStore() *store {
	return &store{tables: map[byte]map[string][]byte{}, next: map[string]int64{}, partition: 3, localNext: map[string]int64{}}
}

func (s *store) task() stream.Task {
	t := stream.Task{Partition: s.partition, OwnerEpoch: 7, Next: maps.Clone(s.next), LocalNext: maps.Clone(s.localNext)}
	t.Get = func(table byte, key []byte) ([]byte, error) {
		s.gets++
		return bytes.Clone(s.tables[table][string(key)]), nil
	}
	t.Scan = func(table byte, prefix []byte, fn func(key, value []byte) error) error {
		for _, k := range slices.Sorted(maps.Keys(s.tables[table])) {
			if bytes.HasPrefix([]byte(k), prefix) {
				if err := fn([]byte(k), s.tables[table][k]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	t.Range = func(table byte, from, to []byte, fn func(key, value []byte) error) error {
		for _, k := range slices.Sorted(maps.Keys(s.tables[table])) {
			if v, ok := s.tables[table][k]; ok && k >= string(from) && (to == nil || k < string(to)) {
				if table == TableSpend {
					s.ranged++
				}
				if err := fn([]byte(k), v); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return t
}

// commit returns the argument of the next Flush.
func (s *store) commit(now int64) stream.Commit {
	return stream.Commit{NowMs: now, Incarnation: 1, OwnerEpoch: 7, Sequence: s.sequence + 1, Next: maps.Clone(s.next)}
}

func (s *store) apply(ch *stream.Changes) {
	s.sequence++
	for _, c := range ch.List {
		table := s.tables[c.Table]
		if table == nil {
			table = map[string][]byte{}
			s.tables[c.Table] = table
		}
		switch c.Op {
		case stream.OpPut:
			table[string(c.Key)] = bytes.Clone(c.Value)
			if c.Table == TableHealth {
				s.healths = append(s.healths, string(c.Value))
			}
		case stream.OpDelete:
			delete(table, string(c.Key))
		case stream.OpDeleteRange:
			for k := range table {
				if k >= string(c.Key) && k < string(c.Value) {
					delete(table, k)
				}
			}
		case stream.OpEmit:
			p := &eventspb.SpendAudit{}
			if err := proto.Unmarshal(c.Value, p); err != nil || c.Output() != auditOutput || c.Key != nil {
				panic(fmt.Sprintf("output %q: %q: %v", c.Output(), c.Key, err))
			}
			s.audits = append(s.audits, p)
		}
	}
}

// flush commits the changes of c.
func (s *store) flush(t fataler, c *Counter, now int64) {
	t.Helper()
	var ch stream.Changes
	cm := s.commit(now)
	if err := c.Flush(cm, &ch); err != nil {
		t.Fatalf("flush: %v", err)
	}
	if s.committed != nil {
		s.committed(cm, ch.List)
	}
	s.apply(&ch)
	s.localNext = maps.Clone(s.next)
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// spends returns the records of table 1 by key.
func (s *store) spends(t fataler) map[string]*eventspb.Spend {
	t.Helper()
	m := map[string]*eventspb.Spend{}
	for k, v := range s.tables[TableSpend] {
		p := &eventspb.Spend{}
		if err := proto.Unmarshal(v, p); err != nil {
			t.Fatalf("spend %q: %v", k, err)
		}
		m[k] = p
	}
	return m
}

func (s *store) taskState(t fataler) *spendpb.TaskState {
	t.Helper()
	p := &spendpb.TaskState{}
	if err := proto.Unmarshal(s.tables[TableTask][TaskKey], p); err != nil {
		t.Fatalf("task record: %v", err)
	}
	return p
}

// health returns the health row.
func (s *store) health(t fataler) *eventspb.SpendHistogram {
	t.Helper()
	p := &eventspb.SpendHistogram{}
	value, ok := s.tables[TableHealth][string(HealthKey(ownDC, s.partition))]
	if !ok {
		t.Fatalf("no health row was written: %q", s.tables[TableHealth])
	}
	if err := proto.Unmarshal(value, p); err != nil {
		t.Fatalf("health row: %v", err)
	}
	return p
}

// anyShard maps every account to this store's partition.
func anyShard([]byte) int32 { return 3 }

func mustNew(t fataler, cfg Config, s *store) *Counter {
	t.Helper()
	if cfg.Shard == nil {
		cfg.Shard = anyShard
	}
	c, err := New(cfg, s.task())
	if err != nil {
		t.Fatalf("new counter: %v", err)
	}
	return c
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
