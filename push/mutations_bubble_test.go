//go:build synctests

package push

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
)

// TestJudge: the checker of the copy notices each way in which it can be wrong.
func TestJudge(t *testing.T) {
	dataset := []entry{
		{"\x01a", 1, false}, {"\x01b", 2, false}, {"\x02c", 3, false}, {"\x0c", 4, false}, {"\x01b", 5, true}, {"\x01a", 6, false}, {"\x0c", 7, false},
	}
	make1 := func() (copies []stream.Record) {
		for _, e := range dataset {
			if e.key[0] != otherTable {
				m := e.message()
				copies = append(copies, stream.Record{Key: m.Key, Value: m.Value})
			}
		}
		return copies
	}
	if w := judge(0, dataset, make1()); len(w) > 0 || len(judge(0, nil, nil)) > 0 {
		t.Fatalf("the checker refuses a right copy: %q", w)
	}
	if w := judge(0, dataset, slices.Delete(make1(), 0, 3)); len(w) > 0 {
		t.Fatalf("the checker refuses a copy without values in between: %q", w)
	}
	record := func(key, value string) stream.Record { return stream.Record{Key: []byte(key), Value: []byte(value)} }
	for name, mutate := range map[string]func([]stream.Record) []stream.Record{
		"a row is missing":          func(c []stream.Record) []stream.Record { return slices.Delete(c, 4, 5) },
		"a tombstone is missing":    func(c []stream.Record) []stream.Record { return slices.Delete(c, 3, 4) },
		"the last is missing":       func(c []stream.Record) []stream.Record { return c[:5] },
		"an older value follows":    func(c []stream.Record) []stream.Record { return append(c, record("\x01a", "1")) },
		"an older value is between": func(c []stream.Record) []stream.Record { return slices.Insert(c, 5, record("\x01a", "1"), c[4]) },
		"health is before a row":    func(c []stream.Record) []stream.Record { c[0], c[2] = c[2], c[0]; return c },
		"health is before a tombstone": func(c []stream.Record) []stream.Record {
			return append(slices.Delete(c, 3, 4), stream.Record{Key: []byte("\x01b")})
		},
		"a row of another program": func(c []stream.Record) []stream.Record { return append(c, record("\x01x", "foreign")) },
		"a row of another table":   func(c []stream.Record) []stream.Record { return append(c, record("\x02c", "3")) },
	} {
		if len(judge(0, dataset, mutate(make1()))) == 0 {
			t.Errorf("%s: the checker does not notice it", name)
		}
	}
}

// TestChangedWhileComparing: records that the dataset loses between the two times that it is read
// are noticed.
func TestChangedWhileComparing(t *testing.T) {
	first := []entry{{"\x01a", 0, false}, {"\x01b", 1, false}, {"\x01a", 2, false}, {"\x01c", 3, false}, {"\x01c", 4, true}, {"\x01d", 5, false}}
	for name, tc := range map[string]struct {
		again   []entry
		changed bool
	}{
		"nothing is lost":               {first, false},
		"older ones are compacted":      {first[1:], false},
		"a tombstone is compacted":      {append(slices.Clone(first[:3]), first[5]), false},
		"the newest one is compacted":   {append(slices.Clone(first[:5]), entry{"\x01d", 9, false}), false},
		"and deleted":                   {append(slices.Clone(first[:5]), entry{"\x01d", 9, true}), false},
		"the end is lost":               {first[:5], true},
		"the end is that of another":    {append(slices.Clone(first[:5]), entry{"\x01e", 5, false}), true},
		"the end is an older one again": {append(slices.Clone(first[:5]), entry{"\x01b", 5, false}, entry{"\x01d", 7, false}), true},
		"one in the middle is lost":     {slices.Delete(slices.Clone(first), 2, 3), true},
	} {
		c := &comparison{end: 6, last: map[string]int64{}, extra: map[string]bool{}}
		for _, e := range first {
			if c.last[e.key] = int64(e.n) + 1; e.deleted {
				c.last[e.key] *= -1
			}
		}
		for _, e := range tc.again { // n is the offset
			m := e.message()
			c.wants(&logreader.Record{Offset: int64(e.n), Key: m.Key, Value: m.Value})
		}
		if changed := c.changed || c.unread(); changed != tc.changed {
			t.Errorf("%s: changed %t", name, changed)
		}
	}
}

// TestMutations: the checks notice a push with each of these mistakes.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes under the race detector, and finds no data race that TestKills does not find")
	}
	for name, mutate := range map[string]func(stream.Processor) stream.Processor{
		"none": func(p stream.Processor) stream.Processor { return p },
		"the position is too late": func(p stream.Processor) stream.Processor {
			return mutatePosition(p, func(at *position) { at.Next += 5 })
		},
		"tombstones are left out": mutateChanges(func(list []stream.Change) []stream.Change {
			return slices.DeleteFunc(list, func(c stream.Change) bool { return c.Op == stream.OpEmit && c.Value == nil })
		}),
		"a row is left out": mutateChanges(func(list []stream.Change) []stream.Change {
			n := slices.IndexFunc(list, isRow)
			if n < 0 {
				return list
			}
			return slices.Delete(list, n, n+1)
		}),
		"health is before the rows": mutateChanges(func(list []stream.Change) []stream.Change {
			slices.SortStableFunc(list, func(a, b stream.Change) int { return rank(a) - rank(b) })
			return list
		}),
		"rows are in the opposite order": opposite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := inRuntime(t, 1, nil, func(x *fixture) {
				x.mutate = mutate
				kills(x)
			})
			if (err == nil) != (name == "none") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func isRow(c stream.Change) bool {
	return c.Op == stream.OpEmit && c.Value != nil && c.Key[0] != healthTable
}

func rank(c stream.Change) int {
	if c.Op == stream.OpEmit && c.Key[0] == healthTable {
		return 0
	}
	return 1
}

// opposite emits, behind the rows of each transaction, those of the one before.
func opposite(p stream.Processor) stream.Processor {
	var former []stream.Change
	return mutateChanges(func(list []stream.Change) []stream.Change {
		var rows []stream.Change
		for _, c := range list {
			if isRow(c) {
				c.Key, c.Value = slices.Clone(c.Key), slices.Clone(c.Value)
				rows = append(rows, c)
			}
		}
		list = append(list, former...)
		if len(rows) > 0 {
			former = rows[:1]
		}
		return list
	})(p)
}

// mutatePosition returns a processor whose tasks find other positions than they have saved.
func mutatePosition(p stream.Processor, mutate func(*position)) stream.Processor {
	made := p.New
	p.New = func(t stream.Task) (stream.Handler, error) {
		get := t.Get
		t.Get = func(table byte, key []byte) ([]byte, error) {
			value, err := get(table, key)
			if table != positionTable || value == nil || err != nil {
				return value, err
			}
			var at position
			if err := json.Unmarshal(value, &at); err != nil {
				return nil, err
			}
			mutate(&at)
			return json.Marshal(at)
		}
		return made(t)
	}
	return p
}

// mutateChanges changes what each Flush hands over.
func mutateChanges(mutate func([]stream.Change) []stream.Change) func(stream.Processor) stream.Processor {
	return func(p stream.Processor) stream.Processor {
		made := p.New
		p.New = func(t stream.Task) (stream.Handler, error) {
			h, err := made(t)
			return mutant{h, mutate}, err
		}
		return p
	}
}

type mutant struct {
	stream.Handler
	mutate func([]stream.Change) []stream.Change
}

func (m mutant) Flush(c stream.Commit, ch *stream.Changes) error {
	err := m.Handler.Flush(c, ch)
	ch.List = m.mutate(ch.List)
	return err
}

func (m mutant) Committed(sequence uint64) { m.Handler.(stream.CommitListener).Committed(sequence) }
func (m mutant) Close()                    { m.Handler.(stream.Closer).Close() }
