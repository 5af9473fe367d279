package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// cluster is a test's view of the brokers, with the topics of the catalogue.
type cluster struct {
	t        *testing.T
	layout   events.Layout // layout of the topics
	brokers  []*broker
	metadata *kgo.Client
	adm      *kadm.Client
}

// shared returns a broker that no other test has now, with the topics of the catalogue. It makes
// the test a parallel one.
func shared(t *testing.T) *cluster {
	t.Helper()
	t.Parallel()
	return alone(t)
}

// alone is shared for a test that measures how long processes take: no other test runs beside it.
func alone(t *testing.T) *cluster {
	t.Helper()
	c := cleared(t)
	c.createTopics(1)
	return c
}

// empty returns a broker that no other test has now, without topics and groups. It makes the test a
// parallel one.
func empty(t *testing.T) *cluster {
	t.Helper()
	t.Parallel()
	return cleared(t)
}

// cleared takes a broker and deletes the topics and groups of earlier tests.
func cleared(t *testing.T) *cluster {
	t.Helper()
	need(t)
	c := newCluster(t, takeBroker(t))
	c.clear()
	return c
}

func newCluster(t *testing.T, brokers ...*broker) *cluster {
	t.Helper()
	c := &cluster{t: t, brokers: brokers}
	c.metadata = c.client(kgo.MetadataMinAge(20 * time.Millisecond)) // its metadata has to be recent
	c.adm = kadm.NewClient(c.metadata)
	t.Cleanup(func() {
		if t.Failed() {
			c.openTransactions()
		}
	})
	return c
}

// openTransactions logs the transactions that block readers of committed records, for a failed
// test.
func (c *cluster) openTransactions() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list, err := c.adm.ListTransactions(ctx, nil, nil)
	c.t.Logf("transactions: %+v, %v", list.Sorted(), err)
	details, err := c.adm.ListTopicsWithInternal(ctx)
	if err != nil {
		c.t.Logf("list topics: %v", err)
	}
	topics := kadm.TopicsSet{}
	details.EachPartition(func(p kadm.PartitionDetail) { topics.Add(p.Topic, p.Partition) })
	got, err := c.adm.DescribeProducers(ctx, topics)
	if err != nil {
		c.t.Logf("describe producers: %v", err)
	}
	got.EachPartition(func(p kadm.DescribedProducersPartition) {
		p.ActiveProducers.Each(func(d kadm.DescribedProducer) {
			if d.CurrentTxnStartOffset >= 0 {
				c.t.Logf("open transaction: %+v", d)
			}
		})
	})
}

// of returns the cluster with another layout.
func (c *cluster) of(l events.Layout) *cluster {
	other := *c
	other.layout = l
	return &other
}

// topics returns the topics of the catalogue.
func (c *cluster) topics() []stream.Topic {
	return spendcounter.ProcessorConfig{DC: "local", Layout: c.layout}.Topics()
}

// addrs returns the addresses of the brokers.
func (c *cluster) addrs() []string {
	var list []string
	for _, b := range c.brokers {
		list = append(list, b.addr)
	}
	return list
}

// client returns a client that the test's cleanup closes.
func (c *cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.addrs()...), kgo.ClientID("integration"), kgo.AlwaysRetryEOF()}, opts...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// createTopics creates the topics of the catalogue with this many replicas.
func (c *cluster) createTopics(replicas int16) {
	c.t.Helper()
	for _, topic := range c.topics() {
		settings := map[string]*string{}
		for k, v := range topic.Settings() {
			settings[k] = &v
		}
		testlimit.Within(c.t, "create "+topic.Name, func(ctx context.Context) error {
			_, err := c.adm.CreateTopic(ctx, topic.Partitions, replicas, settings, topic.Name)
			return err
		})
	}
	testlimit.Within(c.t, "leaders", func(ctx context.Context) error { return c.inSync(ctx, int(replicas)) })
}

// inSync returns an error unless every broker knows the topics of the catalogue and n replicas of
// every partition are in sync.
func (c *cluster) inSync(ctx context.Context, n int) error {
	brokers, err := c.adm.ListBrokers(ctx)
	if err != nil {
		return err
	}
	for _, b := range brokers {
		answer, err := c.metadata.Broker(int(b.NodeID)).Request(ctx, kmsg.NewPtrMetadataRequest()) // of all topics
		if err != nil {
			return err
		}
		res, ok := answer.(*kmsg.MetadataResponse)
		if !ok {
			return fmt.Errorf("broker %d answers with %T", b.NodeID, answer)
		}
		known := map[string]bool{}
		for _, t := range res.Topics {
			known[*t.Topic] = t.ErrorCode == 0
			for _, p := range t.Partitions {
				if len(p.ISR) < n || p.ErrorCode != 0 {
					return fmt.Errorf("%s[%d]: %d replicas in sync of %d: %w", *t.Topic, p.Partition, len(p.ISR), n, kerr.ErrorForCode(p.ErrorCode))
				}
			}
		}
		for _, topic := range c.topics() {
			if !known[topic.Name] {
				return fmt.Errorf("%s is not known to broker %d yet", topic.Name, b.NodeID)
			}
		}
	}
	return nil
}

// clear deletes the groups, with members that were killed, and topics of earlier tests.
func (c *cluster) clear() {
	c.t.Helper()
	groups, err := c.adm.ListGroups(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, group := range groups.Groups() {
		c.deleteGroup(group)
	}
	testlimit.Within(c.t, "delete the topics", func(ctx context.Context) error {
		list, err := c.adm.ListTopics(ctx)
		names := list.Names()
		if err != nil || len(names) == 0 {
			return err
		}
		if _, err := c.adm.DeleteTopics(ctx, names...); err != nil {
			return err
		}
		return fmt.Errorf("not deleted yet: %s", strings.Join(names, " "))
	})
}

func (c *cluster) deleteGroup(group string) {
	c.t.Helper()
	testlimit.Within(c.t, "delete the group", func(ctx context.Context) error {
		groups, err := c.adm.DescribeGroups(ctx, group)
		if err != nil {
			return err
		}
		for _, m := range groups[group].Members {
			if m.InstanceID != nil {
				if _, err := c.adm.LeaveGroup(ctx, kadm.LeaveGroup(group).InstanceIDs(*m.InstanceID)); err != nil {
					return err
				}
			}
		}
		got, err := c.adm.DeleteGroup(ctx, group)
		if err = errors.Join(err, got.Err); errors.Is(err, kerr.GroupIDNotFound) {
			return nil
		}
		return err
	})
}

// ends returns the end offset of each partition of ads.events.
func (c *cluster) ends(ctx context.Context) (map[int32]int64, error) {
	list, err := c.adm.ListEndOffsets(ctx, c.layout.Name(events.EventsTopic))
	if err == nil {
		err = list.Error()
	}
	if err != nil {
		return nil, err
	}
	ends := map[int32]int64{}
	list.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends, nil
}
