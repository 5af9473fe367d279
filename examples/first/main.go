// Command first counts the records of topic visits by their key, each exactly once, and writes
// every new count to topic totals.
package main

import (
	"strconv"

	"github.com/weirhq/weir/program"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

func main() {
	counts := state.NewTable(1, state.String{}, state.Uint64{})
	program.Main(stream.Processor{
		App: "first", Inputs: []string{"visits"}, Outputs: stream.OutputTopics("totals"),
		New: stream.EachRecord(func(c *stream.Context, visit *stream.Record) error {
			n, _, err := counts.Get(c, string(visit.Key))
			if err != nil {
				return err
			}
			counts.Put(c, string(visit.Key), n+1)
			c.Emit("totals", stream.Message{Key: visit.Key, Value: strconv.AppendUint(nil, n+1, 10)})
			return nil
		}),
	})
}
