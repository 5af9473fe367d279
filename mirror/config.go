package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
)

// Peer is another datacentre.
type Peer struct {
	DC    string // its name
	Kafka kafka.Cluster
	// BytesPerSecond bounds what a process copies of the peer: keys, values and headers. 0: no
	// bound.
	BytesPerSecond int
}

// Topic is a topic that is copied.
type Topic struct {
	Name string // at the peer
	// Copy returns the topic here of the copies of the records of a peer; its Name and Cleanup are
	// read. A compacted one needs keys: a copy without the key of its record has its place as the
	// key.
	Copy func(dc string) stream.Topic
}

// Config configures the mirrors of all partitions. DC, Topics and Partitions must be set.
type Config struct {
	// DC is the name of this datacentre.
	DC string
	// Peers are the other datacentres, in any order. A position is kept for a peer that is not
	// listed, so a peer can be removed and added again.
	Peers []Peer
	// Topics are copied of each peer.
	Topics []Topic
	// Partitions is the number of partitions of all topics.
	Partitions int32
	// App is the name of the application, and State, Control and DLQ the names of its changelog, of
	// the topic of instructions and of that of rejected ones. Default to events.MirrorApp,
	// events.MirrorStateTopic, events.MirrorControlTopic and events.MirrorDLQTopic.
	App, State, Control, DLQ string
	// Own is the Kafka of this datacentre. A topic of a peer that has the id of the topic here is
	// not copied. Without it this is not checked.
	Own kafka.Cluster
	// Heartbeats is the topic of events of this datacentre that gets heartbeats. Empty: none.
	Heartbeats string

	// QueueBytes bounds what a partition has read and not committed. Defaults to 2 MiB.
	QueueBytes int
	// ReaderBytes bounds what is read ahead of one partition of one topic, see
	// logreader.Config.QueueBytes. Defaults to 256 KiB.
	ReaderBytes int
	// MaxRecord bounds the bytes of a record that is copied whole: key, value and headers. Defaults
	// to 1 MiB, the bound of the events' topics.
	MaxRecord int

	// Metrics receives the metrics. Defaults to unregistered ones.
	Metrics *Metrics
	// Registry receives the status of each copied partition. Defaults to a registry of its own.
	Registry *StatusRegistry
	// Log receives events. Defaults to no log.
	Log *zerolog.Logger

	peers []*peer
	own   *ownTopics
}

// ErrConfig means that a field of Config is missing or invalid. For errors.Is.
var ErrConfig = errors.New("mirror")

const (
	// statusInterval is the time between two reports of a copied partition.
	statusInterval = time.Second
	// ownTimeout bounds a question to the Kafka of this datacentre.
	ownTimeout = 10 * time.Second
)

func (c *Config) setDefaults() {
	c.App = cmp.Or(c.App, events.MirrorApp)
	c.State = cmp.Or(c.State, events.MirrorStateTopic)
	c.Control = cmp.Or(c.Control, events.MirrorControlTopic)
	c.DLQ = cmp.Or(c.DLQ, events.MirrorDLQTopic)
	c.own = &ownTopics{kafka: c.Own, ids: map[string]logreader.TopicID{}}
	c.QueueBytes = cmp.Or(c.QueueBytes, 2<<20)
	c.ReaderBytes = cmp.Or(c.ReaderBytes, 256<<10)
	c.MaxRecord = cmp.Or(c.MaxRecord, events.MaxEventBatch)
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.Registry == nil {
		c.Registry = &StatusRegistry{}
	}
	if c.Log == nil {
		none := zerolog.Nop()
		c.Log = &none
	}
	for _, p := range c.Peers {
		c.peers = append(c.peers, &peer{
			Peer: p, limit: newLimit(p.BytesPerSecond), log: c.Log.With().Str("peer", p.DC).Logger(), away: map[*copier]bool{},
			reader: logreader.New(logreader.Config{Kafka: p.Kafka, Partitions: int(c.Partitions), QueueBytes: c.ReaderBytes}),
		})
	}
}

func (c *Config) check() error {
	names := []string{c.DC}
	for _, p := range c.Peers {
		switch err := events.ValidateDC(p.DC); {
		case err != nil:
			return fmt.Errorf("%w: Config.Peers: %w", ErrConfig, err)
		case slices.Contains(names, p.DC):
			return fmt.Errorf("%w: datacentre %s is twice in Config.DC and Config.Peers: list each other datacentre once", ErrConfig, p.DC)
		case p.BytesPerSecond < 0:
			return fmt.Errorf("%w: Peer.BytesPerSecond of %s is %d: leave it 0 for no bound", ErrConfig, p.DC, p.BytesPerSecond)
		}
		names = append(names, p.DC)
	}
	copies := []string{c.Heartbeats}
	for _, t := range c.Topics {
		if t.Name == "" || t.Copy == nil {
			return fmt.Errorf("%w: a topic of Config.Topics has no Name or no Copy: set both", ErrConfig)
		}
		for _, p := range c.Peers {
			name := t.Copy(p.DC).Name
			if slices.Contains(copies, name) {
				return fmt.Errorf("%w: two topics are copied to %s: let Topic.Copy return another name for each topic and datacentre",
					ErrConfig, name)
			}
			copies = append(copies, name)
		}
	}
	switch {
	case events.ValidateDC(c.DC) != nil:
		return fmt.Errorf("%w: Config.DC: %w", ErrConfig, events.ValidateDC(c.DC))
	case len(c.Topics) == 0:
		return fmt.Errorf("%w: Config.Topics is empty: name the topics that are copied", ErrConfig)
	case c.Partitions < 1 || c.QueueBytes < 0 || c.ReaderBytes < 0 || c.MaxRecord < 0:
		return fmt.Errorf(
			"%w: Config.Partitions is less than 1, or a limit is negative: set the number of partitions, and leave limits 0 for their defaults", ErrConfig)
	}
	return nil
}
