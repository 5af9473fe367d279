package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// TestNamedNumbers holds that a name has the same number for ever: stored rows are found by it.
func TestNamedNumbers(t *testing.T) {
	for name, want := range map[string]byte{"open": 118, "countries": 50, "counts": 74, "a": 125} {
		if got := state.Named(name, state.String{}, state.String{}).Number(); got != want {
			t.Errorf("table %s has number %d, and had %d", name, got, want)
		}
	}
	seen := map[byte]bool{}
	for i := range 5000 {
		seen[state.Named(fmt.Sprint("table-", i), state.String{}, state.String{}).Number()] = true
	}
	if least, most := slices.Min(numbers(seen)), slices.Max(numbers(seen)); len(seen) != 126 || least != stream.FirstTable || most != stream.TimerTable-1 {
		t.Errorf("%d numbers from %d to %d", len(seen), least, most)
	}
}

func numbers(m map[byte]bool) (list []byte) {
	for n := range m {
		list = append(list, n)
	}
	return list
}

// TestNamedTables holds that tables by name are kept apart, and that their names are in errors and
// in the descriptions.
func TestNamedTables(t *testing.T) {
	one, two := state.Named("one", state.String{}, state.Uint64{}), state.Named("two", state.String{}, state.Uint64{})
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
// operation: two names might make one number unnoticed.
func TestUndeclaredTable(t *testing.T) {
	other := state.Named("other", state.String{}, state.String{})
	for name, use := range map[string]func(c *stream.Context) error{
		"get":    func(c *stream.Context) error { _, _, err := other.Get(c, "k"); return err },
		"put":    func(c *stream.Context) error { other.Put(c, "k", "v"); return nil },
		"delete": func(c *stream.Context) error { other.Delete(c, "k"); return nil },
		"scan":   func(c *stream.Context) error { return other.Scan(c, nil) },
	} {
		listed := state.Named("listed", state.String{}, state.String{})
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

// TestNamesOfOneNumber holds that a processor with two names of one number does not start.
func TestNamesOfOneNumber(t *testing.T) {
	byNumber := map[byte]string{}
	for i := 0; ; i++ {
		name := fmt.Sprint("table-", i)
		table := state.Named(name, state.String{}, state.String{})
		first, taken := byNumber[table.Number()]
		if !taken {
			byNumber[table.Number()] = name
			continue
		}
		p := stream.Processor{App: "a", Inputs: []string{"in"}, Tables: state.Tables(state.Named(first, state.String{}, state.String{}), table), New: stream.EachRecord(nil)}
		if err := p.Complete(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("tables %q and %q both have number", first, name)) {
			t.Errorf("error %v", err)
		}
		return
	}
}
