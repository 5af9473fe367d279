package mirror

import (
	"context"
	"fmt"
	"sync"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
)

// claims are the owners of logs: each log, by the id of its topic, is copied as that of one peer.
// Copied under two names, its records would be counted twice.
type claims struct {
	mu     sync.Mutex
	owners map[logreader.TopicID]string // copyKey of what is copied, or was copied before
}

// claim makes key the owner of a log, unless another one is. It returns the owner.
func (c *claims) claim(id logreader.TopicID, key string) (owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if owner = c.owners[id]; owner == "" {
		owner = key
		c.owners[id] = key
	}
	return owner
}

// ClaimedError means that a log is not copied because it is known under another name: the
// configuration has wrong brokers, or a datacentre has another name than before.
type ClaimedError struct {
	Topic, Peer string
	ID          logreader.TopicID
	Own         bool   // it is the topic of this datacentre
	Owner       string // if it is not: datacentre and topic, under which it is copied or was copied before
}

func (e *ClaimedError) Error() string {
	what := fmt.Sprintf("topic %s of %s has id %s", e.Topic, e.Peer, e.ID)
	if e.Own {
		return what + ", which is that of this datacentre: its records would be counted twice. Correct the brokers of " + e.Peer
	}
	return what + ", which is copied, or was copied before, as " + e.Owner +
		": its records would be counted twice. Correct the brokers of " + e.Peer + ", or give the datacentre its former name"
}

// ownTopics knows the ids of topics of this datacentre. Its methods are safe for concurrent use.
type ownTopics struct {
	kafka kafka.Cluster // without brokers: it knows no topic

	mu  sync.Mutex
	ids map[string]logreader.TopicID
}

// id returns the id of a topic, the zero value if it does not exist. Copiers that ask at the same
// time each ask the brokers: none waits for the request of another.
func (o *ownTopics) id(ctx context.Context, topic string) (id logreader.TopicID, err error) {
	o.mu.Lock()
	id, known := o.ids[topic]
	o.mu.Unlock()
	if known || len(o.kafka.Brokers) == 0 {
		return id, nil
	}
	ctx, cancel := context.WithTimeout(ctx, ownTimeout)
	defer cancel()
	list, err := logreader.Describe(ctx, o.kafka, topic)
	switch {
	case err != nil:
		return id, fmt.Errorf("ask the brokers of this datacentre: %w", err)
	case list[topic].Denied:
		return id, fmt.Errorf(
			"ask the brokers of this datacentre: the user may not describe topic %s: grant the rights of `weir doctor --acls`", topic)
	}
	id = list[topic].ID
	if id != (logreader.TopicID{}) {
		o.mu.Lock()
		o.ids[topic] = id
		o.mu.Unlock()
	}
	return id, nil
}
