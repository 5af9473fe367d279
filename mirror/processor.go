package mirror

import (
	"time"

	"github.com/weirhq/weir/stream"
)

// Tick is the processors.Config.Tick for a mirror: the longest that a batch waits for a Flush.
const Tick = 100 * time.Millisecond

// Processor describes the mirrors of all partitions. The tasks of a process share the connections
// to each peer, so call it once in a process. Its error is ErrConfig.
func (c Config) Processor() (stream.Processor, error) {
	c.setDefaults()
	if err := c.check(); err != nil {
		return stream.Processor{}, err
	}
	var outputs []string
	for _, t := range c.Topics {
		for _, p := range c.Peers {
			outputs = append(outputs, t.Copy(p.DC).Name)
		}
	}
	if c.Heartbeats != "" {
		outputs = append(outputs, c.Heartbeats)
	}
	return stream.Processor{
		App: c.App, Partitions: c.Partitions, Inputs: []string{c.Control}, Changelog: c.State, DLQ: c.DLQ,
		Outputs: stream.OutputTopics(outputs...),
		New:     stream.FromSource(c.QueueBytes, func(t stream.Task) (stream.Source, error) { return newMirror(&c, t) }),
		Tables:  tableInfos(),
	}, nil
}
