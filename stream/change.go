package stream

import "github.com/weirhq/weir/stream/internal/plumbing"

// Op is what one Change does.
type Op uint8

const (
	OpPut         Op = iota + 1 // set Key in Table to Value
	OpDelete                    // remove Key from Table
	OpDeleteRange               // remove the keys of a local table from Key up to, not including, Value
	OpEmit                      // write a record with Key and Value to an output, see To
)

// Change is one entry of a Changes.
type Change struct {
	Key, Value []byte
	To         *Destination // of OpEmit; nil for other operations
	Op         Op
	Table      byte // of all but OpEmit

	keys // of a change of state, in the changelog and in the store
}

// keys are for the runtime.
type keys = plumbing.Keys

// Output returns the name of the output of an OpEmit, "" for other operations.
func (c *Change) Output() string {
	if c.To == nil {
		return ""
	}
	return c.To.Output.Name
}
