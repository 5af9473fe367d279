package dynamotest

import (
	"strconv"

	"github.com/weirhq/weir/dynamotest/internal/item"
	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// capacity is the capacity that a request consumes in one table, in DynamoDB's capacity units.
type capacity struct {
	table   string
	units   float64 // of the table without its indexes
	indexes []indexCapacity
}

type indexCapacity struct {
	name  string
	units float64
}

// readUnits returns the capacity units of a read of size bytes: one for each 4 KB, and half of that
// for an eventually consistent read.
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if !consistent {
		units /= 2
	}
	return units
}

// writeUnits returns the capacity units of a write of size bytes: one for each KB.
func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

// written returns the capacity that the change of an item consumes in the table and in its indexes.
func (t *liveTable) written(from, to item.Item) capacity {
	c := capacity{table: t.def.TableName, units: writeUnits(max(from.Size(), to.Size()))}
	for _, in := range t.indexes {
		if n, size := in.Move("", from, to).Cost(); n > 0 {
			c.indexes = append(c.indexes, indexCapacity{in.Definition.IndexName, float64(n) * writeUnits(size)})
		}
	}
	return c
}

// add adds the capacity of another write of the same table.
func (c *capacity) add(other capacity) {
	c.table = other.table
	c.units += other.units
next:
	for _, o := range other.indexes {
		for i := range c.indexes {
			if c.indexes[i].name == o.name {
				c.indexes[i].units += o.units
				continue next
			}
		}
		c.indexes = append(c.indexes, o)
	}
}

// appendJSON appends the capacity in the form that mode, TOTAL or INDEXES, asks for.
func (c capacity) appendJSON(dst []byte, mode string) []byte {
	total := c.units
	for _, in := range c.indexes {
		total += in.units
	}
	dst = item.AppendText(append(dst, `{"TableName":`...), c.table)
	dst = appendUnits(append(dst, `,"CapacityUnits":`...), total)
	if mode == "INDEXES" {
		dst = appendUnits(append(dst, `,"Table":{"CapacityUnits":`...), c.units)
		dst = append(dst, '}')
		for i, in := range c.indexes {
			if i == 0 {
				dst = append(dst, `,"GlobalSecondaryIndexes":{`...)
			} else {
				dst = append(dst, ',')
			}
			dst = item.AppendText(dst, in.name)
			dst = appendUnits(append(dst, `:{"CapacityUnits":`...), in.units)
			dst = append(dst, '}')
		}
		if len(c.indexes) > 0 {
			dst = append(dst, '}')
		}
	}
	return append(dst, '}')
}

func appendUnits(dst []byte, units float64) []byte {
	return strconv.AppendFloat(dst, units, 'f', -1, 64)
}

// wants reports whether the answer must contain the consumed capacity.
func wants(returnCapacity wire.Text) bool {
	return returnCapacity.Given && returnCapacity.Value != "NONE"
}
