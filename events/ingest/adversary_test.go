package ingest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
)

// A stray quote makes the reader look ahead for the closing quote, split the lines up to it and
// return to the second line. The number of bytes it splits must be linear in the input for every
// arrangement of quotes.
func TestLookAheadIsLinear(t *testing.T) {
	const size, limit = 1 << 20, 64 << 10
	for name, unit := range map[string]string{
		"every line opens":       "\"x\n",
		"opens, then long quiet": "\"x\n" + strings.Repeat("y\n", limit),
		"pairs inside":           "\"x\n" + strings.Repeat("\"\"\n", 1000),
		"closes wrongly":         "\"x\n" + strings.Repeat("y\n", 1000) + "\"z\n",
		"bare quotes":            "x\"\n",
		"lone quotes":            "\"\n",
	} {
		text := []byte(strings.Repeat(unit, size/len(unit)+1))
		counted := &countingSplitter{csvSplitter: newCSVSplitter(',')}
		s := csvRows(bytes.NewReader(text), limit)
		s.split = counted
		for {
			if _, err := s.next(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if most := 4 * len(text); counted.bytes > most {
			t.Errorf("%s: split %d bytes of an input of %d", name, counted.bytes, len(text))
		}
	}
}

type countingSplitter struct {
	*csvSplitter
	bytes int
}

func (c *countingSplitter) split(row []byte) ([]string, *stream.RejectError) {
	c.bytes += len(row)
	return c.csvSplitter.split(row)
}
