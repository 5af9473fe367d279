package stream

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weirhq/weir/stream/internal/plumbing"
)

// Tables of a handler are numbered. Those from FirstTable to TimerTable-1 are logged to the
// changelog, so that another process can restore them. Those from FirstLocalTable on are in the
// local store alone and must be reconstructible from the inputs, see Rebuilder; record functions of
// EachRecord cannot use them. TimerTable belongs to the runtime.
const (
	FirstTable      byte = 1
	FirstLocalTable byte = 128
)

// Changes collects what a Flush hands over: state as absolute values, and output records. Later
// changes of a key replace earlier ones. Once the transaction has committed, Task.Get and Task.Scan
// return them. All bytes passed in are copied.
//
// The zero value takes any output, as if it were declared with its name as its topic.
type Changes struct {
	List []Change
	// Counts are the figures of Count, by name.
	Counts map[string]float64

	allowed
	err error

	arena [][]byte
	cur   []byte
	to    []Destination // room for destinations; full ones live as long as List points to them
	bytes int
	light int // rounds in a row that needed much less room than there is
}

// Blocks of memory double from the least size to the greatest: a SourceBatch is often small, the
// Changes of a task are large and used again.
const (
	minArenaBlock, arenaBlock = 1 << 10, 256 << 10
	minToBlock, toBlock       = 4, 256
)

// allowed is for the runtime: it sets the outputs of the processor.
type allowed = plumbing.Outputs[Output]

func (c *Changes) alloc(n int) []byte {
	if c.cur == nil || cap(c.cur)-len(c.cur) < n {
		if c.cur != nil {
			c.arena = append(c.arena, c.cur)
		}
		c.cur = make([]byte, 0, max(n, minArenaBlock, min(2*cap(c.cur), arenaBlock)))
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
	full := c.alloc(plumbing.KeyPrefixLen + len(key))
	full[2] = table
	copy(full[plumbing.KeyPrefixLen:], key)
	c.List = append(c.List, Change{Op: op, Table: table, Key: full[plumbing.KeyPrefixLen:], Value: value, keys: keys{Full: full}})
}

// Put sets key in table to value. An empty value is stored as an empty value. Values of at most 32
// KiB are best: the time to find a flipped bit of a damaged disk grows with the square of the size.
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

// Emit writes a record to an output of the processor, by its name. The output's partitioner chooses
// the partition by the key; a record without a key goes to the task's partition, modulo the number
// of partitions. An output that the processor does not declare fails the Flush, see Err.
func (c *Changes) Emit(output string, m Message) { c.emit(output, ByPartitioner, m) }

// EmitTo writes a record to a partition of an output. If the output's topic does not have it, the
// transaction is abandoned, and the task stops after some tries.
func (c *Changes) EmitTo(output string, partition int32, m Message) {
	if partition < 0 {
		c.Fail(fmt.Errorf("emit to partition %d of output %q: partitions are numbered from 0", partition, output))
		return
	}
	c.emit(output, partition, m)
}

func (c *Changes) emit(output string, partition int32, m Message) {
	o := c.output(output)
	switch {
	case o == nil:
		c.Fail(c.undeclared(output))
		return
	case m.TimeMs < 0:
		c.Fail(fmt.Errorf("emit to output %q with timestamp %d: give Unix ms, or 0 for the time of the commit", output, m.TimeMs))
		return
	}
	if len(c.to) == cap(c.to) {
		c.to = make([]Destination, 0, max(minToBlock, min(2*cap(c.to), toBlock)))
	}
	c.to = append(c.to, Destination{Output: o, Partition: partition, TimeMs: m.TimeMs})
	to := &c.to[len(c.to)-1]
	if len(m.Headers) > 0 {
		to.Headers = slices.Clone(m.Headers)
		for i := range to.Headers {
			to.Headers[i].Value = c.dup(to.Headers[i].Value)
		}
	}
	c.List = append(c.List, Change{Op: OpEmit, To: to, Key: c.dup(m.Key), Value: c.dup(m.Value)})
}

// adopt appends the changes of b, and its error, without a copy. The caller does not use b again.
func (c *Changes) adopt(b *Changes) {
	if b.err != nil {
		c.Fail(b.err)
	}
	for i := range b.List {
		to := b.List[i].To
		if to == nil {
			continue
		}
		name := to.Output.Name
		if to.Output = c.output(name); to.Output == nil {
			c.Fail(c.undeclared(name))
			return
		}
	}
	c.List = append(c.List, b.List...)
	c.bytes += b.bytes
	for name, n := range b.Counts {
		c.Count(name, n)
	}
}

// Count adds n to the counter weir_processor_counts_total{app, name} of the process, once the
// transaction has committed. So a record that is tried again counts once, and a process that is
// killed between the commit and the count misses it. name is from a closed set, see ValidName. n is
// finite and not negative. Other names and numbers fail the Flush, see Err.
func (c *Changes) Count(name string, n float64) {
	if err := checkCount(name, n); err != nil {
		c.Fail(err)
		return
	}
	if c.Counts == nil {
		c.Counts = map[string]float64{}
	}
	c.Counts[name] += n
}

// checkCount returns an error for what a counter cannot take.
func checkCount(name string, n float64) error {
	switch {
	case !ValidName(name):
		return fmt.Errorf("count %q: it is not a legal name: use 1 to 200 letters, digits, '.', '_' or '-'", name)
	case !(n >= 0) || math.IsInf(n, 1): // also NaN
		return fmt.Errorf("count %q by %g: a counter does not fall, and is a finite number", name, n)
	}
	return nil
}

func (c *Changes) undeclared(output string) error {
	return fmt.Errorf(
		"emit to output %q, which the processor does not declare: its outputs are %s: add it to Processor.Outputs, or correct the name",
		output, c.names())
}

func (c *Changes) output(name string) *Output {
	for _, o := range c.allowed.List {
		if o.Name == name {
			return o
		}
	}
	if c.Declared {
		return nil
	}
	o := &Output{Name: name, Topic: name}
	c.allowed.List = append(c.allowed.List, o)
	return o
}

func (c *Changes) names() string {
	if len(c.allowed.List) == 0 {
		return "none"
	}
	list := make([]string, len(c.allowed.List))
	for i, o := range c.allowed.List {
		list[i] = fmt.Sprintf("%q", o.Name)
	}
	return strings.Join(list, ", ")
}

// Fail makes the Flush fail with err. It is for helpers whose methods return no error, such as
// state.Table.Put.
func (c *Changes) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// truncate forgets the changes from number n on, and their errors. Their memory is in use until
// Reset.
func (c *Changes) truncate(n int) {
	clear(c.List[n:])
	c.List, c.err = c.List[:n], nil
}

// Err returns the first error of Emit, EmitTo and Fail since Reset. The runtime abandons a
// transaction whose Flush left one.
func (c *Changes) Err() error { return c.err }

// Bytes is the size of all keys, values and headers held.
func (c *Changes) Bytes() int { return c.bytes }

// Reset forgets all changes. It keeps room for the next round: one block of memory, and a list as
// long as was needed of late.
func (c *Changes) Reset() {
	if c.light++; len(c.List) >= cap(c.List)/4 {
		c.light = 0
	}
	if c.light > 16 {
		c.List, c.light = nil, 0
	}
	clear(c.List)
	c.List, c.arena, c.bytes, c.err = c.List[:0], nil, 0, nil
	if cap(c.cur) > arenaBlock {
		c.cur = nil
	}
	c.cur = c.cur[:0]
	clear(c.to)
	c.to = c.to[:0]
	clear(c.Counts)
}
