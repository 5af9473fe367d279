// Command first counts the records of topic clicks by their key, each exactly once, and writes
// every new count to topic counts.
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
		App: "first", Inputs: []string{"clicks"}, Outputs: stream.OutputTopics("counts"),
		New: stream.EachRecord(func(c *stream.Context, click *stream.Record) error {
			n, _, err := counts.Get(c, string(click.Key))
			if err != nil {
				return err
			}
			counts.Put(c, string(click.Key), n+1)
			c.Emit("counts", stream.Message{Key: click.Key, Value: strconv.AppendUint(nil, n+1, 10)})
			return nil
		}),
	})
}
