package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// TestNamedTables holds that tables with names are kept apart, and that their names are in errors
// and in the descriptions.
func TestNamedTables(t *testing.T) {
	one, two := state.Named(1, "one", state.String{}, state.Uint64{}), state.Named(2, "two", state.String{}, state.Uint64{})
	p := stream.Processor{Tables: state.Tables(one, two), On: []stream.Callback{
		stream.On("in", state.String{}, func(c *stream.Context, r *stream.Record, _ string) error {
			one.Put(c, string(r.Key), 1)
			two.Put(c, string(r.Key), 2)
			return nil
		}),
	}}
	r := streamtest.New(t, streamtest.Options{Processor: p})
	r.AppendTo("in", stream.Record{Key: []byte("k"), Value: []byte{}})
	r.FoldAll()
	r.Commit(1)
	a, _, err1 := one.Get(r, "k")
	b, _, err2 := two.Get(r, "k")
	if a != 1 || b != 2 || err1 != nil || err2 != nil {
		t.Errorf("%d, %v and %d, %v", a, err1, b, err2)
	}
	if p.Tables[1].Name != "two" || p.Tables[1].Number != two.Number() {
		t.Errorf("description %+v", p.Tables[1])
	}
	short := stream.Get(func(byte, []byte) ([]byte, error) { return []byte("x"), nil })
	if _, _, err := one.Get(short, "k"); err == nil || !strings.Contains(err.Error(), `table "one": decode key "k"`) {
		t.Errorf("error %v", err)
	}
}

// TestUndeclaredTable holds that a named table that the processor does not list is refused by each
// operation: another table might have its number unnoticed.
func TestUndeclaredTable(t *testing.T) {
	other := state.Named(1, "other", state.String{}, state.String{})
	for name, use := range map[string]func(c *stream.Context) error{
		"get":    func(c *stream.Context) error { _, _, err := other.Get(c, "k"); return err },
		"put":    func(c *stream.Context) error { other.Put(c, "k", "v"); return nil },
		"delete": func(c *stream.Context) error { other.Delete(c, "k"); return nil },
		"scan":   func(c *stream.Context) error { return other.Scan(c, nil) },
	} {
		listed := state.Named(2, "listed", state.String{}, state.String{})
		p := stream.Processor{App: "a", Inputs: []string{"in"}, Tables: state.Tables(listed), New: stream.EachRecord(
			func(c *stream.Context, _ *stream.Record) error { return use(c) })}
		if err := p.Complete(); err != nil {
			t.Fatal(err)
		}
		h, err := p.New(stream.Task{})
		if err != nil {
			t.Fatal(err)
		}
		err = h.Fold(&stream.Batch{Topic: "in", Records: make([]stream.Record, 1)})
		if want := `table "other" is not in Processor.Tables: add it, as in state.Tables(other)`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestNumberOfANamedTable holds that a table without a name is refused by each operation if a named
// table of the processor has its number. Where the processor lists it by Describe, it is that
// table.
func TestNumberOfANamedTable(t *testing.T) {
	other := state.NewTable(1, state.String{}, state.String{})
	for name, use := range map[string]func(c *stream.Context) error{
		"get":    func(c *stream.Context) error { _, _, err := other.Get(c, "k"); return err },
		"put":    func(c *stream.Context) error { other.Put(c, "k", "v"); return nil },
		"delete": func(c *stream.Context) error { other.Delete(c, "k"); return nil },
		"scan":   func(c *stream.Context) error { return other.Scan(c, func(string, string) error { return nil }) },
	} {
		for want, tables := range map[string][]stream.TableInfo{
			`a table of state.NewTable has number 1, which is that of table "users"`: state.Tables(state.Named(1, "users", state.String{}, state.String{})),
			"": {other.Describe("users"), state.Named(2, "two", state.String{}, state.String{}).Info()},
		} {
			p := stream.Processor{App: "a", Inputs: []string{"in"}, Tables: tables, New: stream.EachRecord(
				func(c *stream.Context, _ *stream.Record) error { return use(c) })}
			if err := p.Complete(); err != nil {
				t.Fatal(err)
			}
			none := func(byte, []byte) ([]byte, error) { return nil, nil }
			h, err := p.New(stream.Task{Get: none, Range: func(byte, []byte, []byte, func(key, value []byte) error) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			err = h.Fold(&stream.Batch{Topic: "in", Records: make([]stream.Record, 1)})
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

// TestTablesAreApart holds that a processor with two tables of one number or of one name does not
// start, nor one with a number of the runtime.
func TestTablesAreApart(t *testing.T) {
	table := func(number byte, name string) *state.Table[string, string] {
		return state.Named(number, name, state.String{}, state.String{})
	}
	for want, tables := range map[string][]stream.TableInfo{
		`tables "a" and "b" both have number 7`: state.Tables(table(7, "a"), table(7, "b")),
		`two tables are named "a"`:              state.Tables(table(7, "a"), table(8, "a")),
		`table "timers" has number 127`:         state.Tables(table(127, "timers")),
		`table "none" has number 0`:             state.Tables(table(0, "none")),
		`tables "a" and "b" both have number 9`: state.Tables(table(9, "a"), state.NewSessions(9, "b", state.String{}, time.Second, func(a, b int) int { return a + b })),
	} {
		p := stream.Processor{App: "a", Inputs: []string{"in"}, Tables: tables, New: stream.EachRecord(nil)}
		if err := p.Complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestRowsBelongToTheNumber holds that a table with another name has its rows, and that one of
// another number has none, whatever its name is.
func TestRowsBelongToTheNumber(t *testing.T) {
	old := state.Named(3, "old", state.String{}, state.String{})
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{Tables: state.Tables(old), New: stream.EachRecord(
		func(c *stream.Context, _ *stream.Record) error { old.Put(c, "k", "v"); return nil })}})
	r.Append(nil)
	r.FoldAll()
	r.Commit(1)
	for _, x := range []struct {
		number byte
		name   string
		has    bool
	}{{3, "old", true}, {3, "new", true}, {4, "old", false}} {
		v, ok, err := state.Named(x.number, x.name, state.String{}, state.String{}).Get(r, "k")
		if ok != x.has || err != nil {
			t.Errorf("table %d %s: %q, %t, %v", x.number, x.name, v, ok, err)
		}
	}
}
