package stream

// Tables below LocalTables are logged to the changelog; the others live in the local store alone and must be
// reconstructible from the inputs.
const (
	FirstTable  byte = 1
	LocalTables byte = 128
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
}

// Changes collects what a core has to say at a commit: state by absolute values, and outputs. The bytes handed in are
// copied into an arena that lives until Reset.
type Changes struct {
	List  []Change
	arena [][]byte
	cur   []byte
	bytes int
}

const arenaBlock = 1 << 20

func (c *Changes) alloc(n int) []byte {
	if cap(c.cur)-len(c.cur) < n {
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

// Put sets key in table to value.
func (c *Changes) Put(table byte, key, value []byte) {
	c.List = append(c.List, Change{Op: OpPut, Table: table, Key: c.dup(key), Value: c.dup(value)})
}

// Delete removes key from table.
func (c *Changes) Delete(table byte, key []byte) {
	c.List = append(c.List, Change{Op: OpDelete, Table: table, Key: c.dup(key)})
}

// DeleteRange removes the keys from start up to, not including, end from a local table.
func (c *Changes) DeleteRange(table byte, start, end []byte) {
	c.List = append(c.List, Change{Op: OpDeleteRange, Table: table, Key: c.dup(start), Value: c.dup(end)})
}

// Emit produces a record to output topic number output.
func (c *Changes) Emit(output int, partition int32, key, value []byte) {
	c.List = append(c.List, Change{Op: OpEmit, Output: output, Partition: partition, Key: c.dup(key), Value: c.dup(value)})
}

// Bytes is the size of all keys and values held.
func (c *Changes) Bytes() int { return c.bytes }

// Reset forgets all changes. It keeps one block of memory for the next round.
func (c *Changes) Reset() {
	clear(c.List)
	c.List, c.arena, c.bytes = c.List[:0], nil, 0
	if cap(c.cur) > arenaBlock {
		c.cur = nil
	}
	c.cur = c.cur[:0]
}
