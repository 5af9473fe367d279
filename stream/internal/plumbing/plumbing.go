// Package plumbing has what types of package stream offer to the runtime and not to their users.
// The types are embedded: the runtime calls their methods, and the documentation of package stream
// does not list them.
package plumbing

import "fmt"

// Keys are the keys of a change of state: two bytes for the partition, the table, then the key.
type Keys struct{ Full []byte }

// KeyPrefixLen is what precedes a state key in the store: two bytes of partition and one of table.
const KeyPrefixLen = 3

// LogKey is the key of a state change in the changelog: the table, then the key.
func (k *Keys) LogKey() []byte { return k.Full[2:] }

// StoreKey is the key of a state change in the local store: the partition, the table, then the key.
func (k *Keys) StoreKey(partition int32) []byte {
	k.Full[0], k.Full[1] = byte(partition>>8), byte(partition)
	return k.Full
}

// Outputs are the outputs that may be emitted to.
type Outputs[O any] struct {
	List     []*O
	Declared bool // List are those of a processor: there are no others
}

// SetOutputs makes outputs the only ones that Emit and EmitTo take.
func (o *Outputs[O]) SetOutputs(outputs []O) {
	o.List, o.Declared = make([]*O, len(outputs)), true
	for i := range outputs {
		o.List[i] = &outputs[i]
	}
}

// NamedTable distinguishes the description of a table of state.Named from others.
type NamedTable struct{ Named bool }

// TableName is the name of a table in Processor.Tables.
type TableName struct {
	NamedTable
	Name string
}

// TableNames are the names of a processor's tables, by number.
type TableNames struct{ Names *[256]TableName } // nil: unknown

// CheckTable returns an error if the processor does not have table number under this name. The name
// is empty for a table of state.NewTable: then no table of state.Named may have the number.
func (t TableNames) CheckTable(number byte, name string) error {
	if t.Names == nil {
		return nil
	}
	listed := t.Names[number]
	switch {
	case name == "" && listed.Named:
		return fmt.Errorf("a table of state.NewTable has number %d, which is that of table %q in Processor.Tables: give each table a number of its own", number, listed.Name)
	case name != "" && name != listed.Name:
		return fmt.Errorf("table %q is not in Processor.Tables: add it, as in state.Tables(%s)", name, name)
	}
	return nil
}

// Missing is the error of what a callback needs and does not have.
type Missing struct{ Err error } // nil: it is complete
