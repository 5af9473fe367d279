package stream

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

	storeKey []byte // room for the partition, the table, then Key
}

// Output returns the name of the output of an OpEmit, "" for other operations.
func (c *Change) Output() string {
	if c.To == nil {
		return ""
	}
	return c.To.Output.Name
}

// keyPrefixLen is what precedes a state key in the store: two bytes of partition and one of table.
const keyPrefixLen = 3

// LogKey is the key of a state change in the changelog: the table, then the key.
func (c *Change) LogKey() []byte { return c.storeKey[2:] }

// StoreKey is the key of a state change in the local store: the partition, the table, then the key.
func (c *Change) StoreKey(partition int32) []byte {
	c.storeKey[0], c.storeKey[1] = byte(partition>>8), byte(partition)
	return c.storeKey
}
