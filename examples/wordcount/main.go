// Command wordcount counts the words of topic lines, each record exactly once, and writes every
// new count to topic counts:
//
//	lines ─▶ split ─▶ words (key: the word) ─▶ count ─▶ counts (key: the word)
//
// The key decides the partition, so all copies of a word reach the task that counts it.
package main

import (
	"strconv"
	"strings"

	"github.com/weirhq/weir/program"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

func main() { program.Main(split(), count()) }

// split writes each word of a line as a record.
func split() stream.Processor {
	return stream.Processor{
		App: "wordcount-split", Inputs: []string{"lines"}, Outputs: stream.OutputTopics("words"),
		New: stream.EachRecord(func(c *stream.Context, line *stream.Record) error {
			for word := range strings.FieldsSeq(strings.ToLower(string(line.Value))) {
				c.Emit("words", stream.Message{Key: []byte(word), Value: []byte("1")})
			}
			return nil
		}),
	}
}

// count keeps the number of each word in table counts.
func count() stream.Processor {
	counts := state.Named(1, "counts", state.String{}, state.Uint64{})
	return stream.Processor{
		App: "wordcount", Inputs: []string{"words"}, Outputs: stream.OutputTopics("counts"),
		Tables: state.Tables(counts),
		New: stream.EachRecord(func(c *stream.Context, word *stream.Record) error {
			n, _, err := counts.Get(c, string(word.Key))
			if err != nil {
				return err
			}
			counts.Put(c, string(word.Key), n+1)
			c.Emit("counts", stream.Message{Key: word.Key, Value: strconv.AppendUint(nil, n+1, 10)})
			return nil
		}),
	}
}
