package mirror

import (
	"context"
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
)

// Mirror is the source of one partition.
type Mirror struct {
	cfg     *Config
	task    stream.Task
	log     zerolog.Logger
	tables  tables
	copiers []*copier
	claims  claims

	queue *stream.SourceQueue // of Read

	// Of Fold and Flush.
	asked     []Instruction
	heartbeat int64 // second of the last heartbeat, Unix s
}

// newMirror makes the source of a task from committed state. It makes no request.
func newMirror(cfg *Config, task stream.Task) (*Mirror, error) {
	m := &Mirror{cfg: cfg, task: task, log: cfg.Log.With().Int32("partition", task.Partition).Logger(), tables: newTables()}
	m.claims.owners = map[logreader.TopicID]string{}
	err := m.tables.positions.Scan(task.Range, func(key string, at position) error {
		if at.Topic != (logreader.TopicID{}) {
			m.claims.claim(at.Topic, key)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mirror: read the positions in partition %d: %w", task.Partition, err)
	}
	share := max(1, cfg.QueueBytes/max(1, len(cfg.peers)*len(cfg.Topics)))
	for _, p := range cfg.peers {
		for _, t := range cfg.Topics {
			c := newCopier(m, p, t, share)
			at, found, err := m.tables.positions.Get(task.Get, c.key)
			if err == nil && found {
				c.at, c.log = at, at.Log
			}
			if err == nil {
				c.asked, c.isAsked, err = m.tables.instructions.Get(task.Get, c.key)
			}
			if err != nil {
				return nil, fmt.Errorf("mirror: read the state of %s in partition %d: %w", c.key, task.Partition, err)
			}
			m.copiers = append(m.copiers, c)
		}
	}
	return m, nil
}

// Read implements stream.Source: it copies until ctx ends.
func (m *Mirror) Read(ctx context.Context, q *stream.SourceQueue) error {
	m.queue = q
	var running sync.WaitGroup
	defer running.Wait()
	for _, c := range m.copiers {
		running.Go(func() { c.run(ctx) })
	}
	for pause.For(ctx, statusInterval) {
		for _, c := range m.copiers {
			c.report()
		}
	}
	return nil
}

// Fold implements stream.Handler: it takes instructions.
func (m *Mirror) Fold(b *stream.Batch) error {
	for n := range b.Records {
		i, err := parseInstruction(b.Records[n].Value)
		switch {
		case err != nil:
			b.Reject(n, "bad_instruction", err.Error())
		case m.copier(i) == nil:
			b.Reject(n, "unknown_instruction", fmt.Sprintf("topic %.100q of datacentre %.100q is not copied", i.Topic, i.Peer))
		default:
			m.asked = append(m.asked, i)
		}
	}
	return nil
}

// Flush implements stream.Handler: it saves instructions, and adds the heartbeat of a new second.
func (m *Mirror) Flush(c stream.Commit, ch *stream.Changes) error {
	for _, i := range m.asked {
		to := m.copier(i)
		m.tables.instructions.Put(ch, to.key, i)
		to.ask(i)
	}
	m.asked = nil
	if second := c.NowMs / 1000; m.cfg.Heartbeats != "" && second > m.heartbeat {
		m.heartbeat = second
		value, err := events.Heartbeat(m.cfg.DC, c.NowMs)
		if err != nil {
			return fmt.Errorf("encode a heartbeat: %w", err)
		}
		ch.EmitTo(m.cfg.Heartbeats, m.task.Partition, stream.Message{Value: value})
	}
	return nil
}

// Close implements stream.Closer, after Read has returned.
func (m *Mirror) Close() {
	for _, c := range m.copiers {
		m.cfg.Registry.remove(c)
		m.cfg.Metrics.forget(c)
		c.peer.forget(c)
	}
}

// copier returns the copier that an instruction is for, nil if none has its topic.
func (m *Mirror) copier(i Instruction) *copier {
	for _, c := range m.copiers {
		if c.peer.DC == i.Peer && c.topic == i.Topic {
			return c
		}
	}
	return nil
}

// start is the position of a partition of which nothing was copied.
func start() position { return position{Position: logreader.Start(), Last: -1} }
