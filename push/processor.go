package push

import (
	"time"

	"github.com/weirhq/weir/stream"
)

// Tick is the processors.Config.Tick for a push: the longest that a batch waits for a Flush.
const Tick = 100 * time.Millisecond

// Processor describes the push of all partitions. The tasks of a process share connections, so call
// it once in a process and target. Its error is ErrConfig.
func (c Config) Processor() (stream.Processor, error) {
	c.setDefaults()
	if err := c.check(); err != nil {
		return stream.Processor{}, err
	}
	return stream.Processor{
		App: c.App, Partitions: c.Partitions, Inputs: []string{c.Control}, Changelog: c.State, DLQ: c.DLQ,
		Outputs: stream.OutputTopics(c.Copy),
		New:     stream.FromSource(c.QueueBytes, func(t stream.Task) (stream.Source, error) { return newPusher(&c, t) }),
		Tables:  []stream.TableInfo{newPositions().Describe("positions")},
	}, nil
}
