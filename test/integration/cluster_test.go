package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/spendcounter"
)

// cluster is the brokers as a test sees them, with the catalogue's topics.
type cluster struct {
	t       *testing.T
	layout  events.Layout // of the topics that a test means
	brokers []*broker
	asker   *kgo.Client
	adm     *kadm.Client
}

// shared is the single node that TestMain started, with fresh topics and without the group of earlier tests.
func shared(t *testing.T) *cluster {
	t.Helper()
	need(t)
	c := newCluster(t, theBroker())
	c.clear()
	c.createTopics(1)
	return c
}

// theBroker is the single node that TestMain started.
func theBroker() *broker { return &broker{addr: os.Getenv(envBroker), id: os.Getenv(envContainer)} }

func newCluster(t *testing.T, brokers ...*broker) *cluster {
	t.Helper()
	c := &cluster{t: t, brokers: brokers}
	c.asker = c.client(kgo.MetadataMinAge(20 * time.Millisecond)) // what it says of topics is to be new
	c.adm = kadm.NewClient(c.asker)
	t.Cleanup(func() {
		if t.Failed() {
			c.openTransactions()
		}
	})
	return c
}

// openTransactions logs which transactions hold readers of committed records back, for a test that failed.
func (c *cluster) openTransactions() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list, err := c.adm.ListTransactions(ctx, nil, nil)
	c.t.Logf("transactions: %+v, %v", list.Sorted(), err)
	topics := kadm.TopicsSet{}
	for _, t := range c.topics() {
		for p := range t.Partitions {
			topics.Add(t.Name, p)
		}
	}
	for p := range int32(50) {
		topics.Add("__consumer_offsets", p)
	}
	got, err := c.adm.DescribeProducers(ctx, topics)
	if err != nil {
		c.t.Logf("ask for producers: %v", err)
	}
	got.EachPartition(func(p kadm.DescribedProducersPartition) {
		p.ActiveProducers.Each(func(d kadm.DescribedProducer) {
			if d.CurrentTxnStartOffset >= 0 {
				c.t.Logf("open transaction: %+v", d)
			}
		})
	})
}

// of is the cluster with another layout in mind.
func (c *cluster) of(l events.Layout) *cluster {
	other := *c
	other.layout = l
	return &other
}

// topics are the catalogue's.
func (c *cluster) topics() []events.Topic {
	return spendcounter.ProcessorConfig{DC: "local", Layout: c.layout}.Topics()
}

// addrs are the addresses of the brokers.
func (c *cluster) addrs() []string {
	var list []string
	for _, b := range c.brokers {
		list = append(list, b.addr)
	}
	return list
}

// client is a client that ends with the test.
func (c *cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.addrs()...), kgo.ClientID("integration"), kgo.AlwaysRetryEOF()}, opts...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// createTopics makes the topics of the catalogue, as it says, with so many copies.
func (c *cluster) createTopics(copies int16) {
	c.t.Helper()
	for _, topic := range c.topics() {
		settings := map[string]*string{}
		for k, v := range topic.Settings() {
			settings[k] = &v
		}
		within(c.t, 30*time.Second, "create "+topic.Name, func(ctx context.Context) error {
			_, err := c.adm.CreateTopic(ctx, topic.Partitions, copies, settings, topic.Name)
			return err
		})
	}
	within(c.t, 30*time.Second, "leaders", func(ctx context.Context) error { return c.inSync(ctx, int(copies)) })
}

// inSync complains unless every broker knows the catalogue's topics, and n copies in sync of every partition.
func (c *cluster) inSync(ctx context.Context, n int) error {
	brokers, err := c.adm.ListBrokers(ctx)
	if err != nil {
		return err
	}
	for _, b := range brokers {
		answer, err := c.asker.Broker(int(b.NodeID)).Request(ctx, kmsg.NewPtrMetadataRequest()) // of all topics
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
					return fmt.Errorf("%s[%d]: %d copies in sync of %d: %w", *t.Topic, p.Partition, len(p.ISR), n, kerr.ErrorForCode(p.ErrorCode))
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

// clear takes away the group, also of processes that were killed, and all topics.
func (c *cluster) clear() {
	c.t.Helper()
	for generation := 1; generation <= 3; generation++ {
		c.deleteGroup(events.Layout{Generation: generation}.Name(spendcounter.App))
	}
	within(c.t, 30*time.Second, "delete the topics", func(ctx context.Context) error {
		list, err := c.adm.ListTopics(ctx)
		if err != nil || len(list) == 0 {
			return err
		}
		if _, err := c.adm.DeleteTopics(ctx, list.Names()...); err != nil {
			return err
		}
		return fmt.Errorf("still there: %s", strings.Join(list.Names(), " "))
	})
}

func (c *cluster) deleteGroup(group string) {
	c.t.Helper()
	within(c.t, 30*time.Second, "delete the group", func(ctx context.Context) error {
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

// ends gives the next offset of each partition of ads.events.
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
