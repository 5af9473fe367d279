package stream

// Tables below LocalTables are logged to the changelog; the others live in the local store alone and must be
// reconstructible from the inputs. TimerTable is the runtime's own.
const (
	FirstTable      byte = 1
	FirstLocalTable byte = 128
)

// Op is what one entry of a Changes does.
type Op uint8

const (
	OpPut         Op = iota + 1 // set Key in Table to Value
	OpDelete                    // remove Key from Table
	OpDeleteRange               // remove the keys of a local table from Key up to, not including, Value
	OpEmit                      // produce Key, Value to output topic Output, partition Partition
)

// Change is one entry of a Changes.
type Change struct {
	Key, Value []byte
	Output     int // index into the processor's outputs
	Partition  int32
	Op         Op
	Table      byte

	storeKey []byte // room for the partition, the table, then Key
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

// Changes collects what a Flush hands over: state as absolute values, and output records. Later
// changes of a key replace earlier ones. Once the transaction has committed, Task.Get and Task.Scan
// return them. All bytes passed in are copied.
type Changes struct {
	List  []Change
	arena [][]byte
	cur   []byte
	bytes int
	light int // rounds in a row that needed much less room than there is
}

const arenaBlock = 256 << 10

func (c *Changes) alloc(n int) []byte {
	if c.cur == nil || cap(c.cur)-len(c.cur) < n {
		if c.cur != nil {
			c.arena = append(c.arena, c.cur)
		}
		c.cur = make([]byte, 0, max(arenaBlock, n))
	}
	i := len(c.cur)
	c.cur = c.cur[:i+n]
	c.bytes += n
	return c.cur[i : i+n : i+n]
}

func (c *Changes) dup(b []byte) []byte {
	if b == nil {
		return nil
	}
	d := c.alloc(len(b))
	copy(d, b)
	return d
}

// state appends a change of one key, or of a range from key to value.
func (c *Changes) state(op Op, table byte, key, value []byte) {
	full := c.alloc(keyPrefixLen + len(key))
	full[2] = table
	copy(full[keyPrefixLen:], key)
	c.List = append(c.List, Change{Op: op, Table: table, Key: full[keyPrefixLen:], Value: value, storeKey: full})
}

// Put sets key in table to value. An empty value is stored as an empty value.
func (c *Changes) Put(table byte, key, value []byte) {
	v := c.alloc(len(value))
	copy(v, value)
	c.state(OpPut, table, key, v)
}

// Delete removes key from table.
func (c *Changes) Delete(table byte, key []byte) { c.state(OpDelete, table, key, nil) }

// DeleteRange removes the keys from start up to, not including, end from a local table.
func (c *Changes) DeleteRange(table byte, start, end []byte) {
	c.state(OpDeleteRange, table, start, c.dup(end))
}

// Emit produces a record to output topic number output.
func (c *Changes) Emit(output int, partition int32, key, value []byte) {
	c.List = append(c.List, Change{Op: OpEmit, Output: output, Partition: partition, Key: c.dup(key), Value: c.dup(value)})
}

// Bytes is the size of all keys and values held.
func (c *Changes) Bytes() int { return c.bytes }

// Reset forgets all changes. It keeps room for the next round: one block of memory, and a list as long as was needed of late.
func (c *Changes) Reset() {
	if c.light++; len(c.List) >= cap(c.List)/4 {
		c.light = 0
	}
	if c.light > 16 {
		c.List, c.light = nil, 0
	}
	clear(c.List)
	c.List, c.arena, c.bytes = c.List[:0], nil, 0
	if cap(c.cur) > arenaBlock {
		c.cur = nil
	}
	c.cur = c.cur[:0]
}
