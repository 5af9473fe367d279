package stream

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/stream/internal/plumbing"
)

// TableInfo describes a table of a processor: commands and the API show the committed state with
// it. state.Tables and state.Table.Describe make one from a table's codecs.
//
// The functions are called concurrently, with keys and values of the store, which other versions of
// the program may have written: they return an error for bytes that they cannot read.
type TableInfo struct {
	Number byte
	Name   string // letters, digits, '.', '_' or '-', and no digit first
	// Key returns a key as JSON. Nil: keys are text, with \xNN for other bytes.
	Key func(key []byte) ([]byte, error)
	// Value returns a value as JSON. Nil: values are shown as bytes.
	Value func(value []byte) ([]byte, error)
	// Partition returns the partition of a key. Nil: keys do not determine their partition.
	Partition func(key []byte) (int32, bool)

	namedTable
}

// namedTable is for package state.
type namedTable = plumbing.NamedTable

// checkTables returns an error if two tables have the same number or name, or if a table cannot be
// asked for.
func (p *Processor) checkTables() error {
	for i := range p.Tables {
		t := &p.Tables[i]
		same := slices.IndexFunc(p.Tables[:i], func(o TableInfo) bool { return o.Number == t.Number || o.Name == t.Name })
		switch {
		case t.Number == 0 || t.Number == TimerTable:
			return fmt.Errorf("processor %q: table %q has number %d, which is the runtime's: use 1 to 126, or 128 to 255 where it is local",
				p.App, t.Name, t.Number)
		case !ValidName(t.Name) || '0' <= t.Name[0] && t.Name[0] <= '9':
			return fmt.Errorf("processor %q: table %d cannot be named %q: use letters, digits, '.', '_' or '-', and no digit first", p.App,
				t.Number, t.Name)
		case same >= 0 && p.Tables[same].Name == t.Name:
			return fmt.Errorf("processor %q: two tables are named %q: give each table a name of its own, and list it once", p.App, t.Name)
		case same >= 0:
			return fmt.Errorf(
				"processor %q: tables %q and %q both have number %d: give each table a number of its own, and keep that of the table that has rows", p.App, p.Tables[same].Name, t.Name, t.Number)
		}
	}
	return nil
}

// nameTables makes New give the names of the tables to its handlers: a record function uses no
// table of a name that the processor does not have.
func (p *Processor) nameTables() {
	names, build := &[256]plumbing.TableName{}, p.New
	for i := range p.Tables {
		t := &p.Tables[i]
		names[t.Number] = plumbing.TableName{NamedTable: t.namedTable, Name: t.Name}
	}
	p.New = func(t Task) (Handler, error) {
		t.tables = tableNames{Names: names}
		return build(t)
	}
}
