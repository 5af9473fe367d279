package kafkaadmin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/processors/kafka"
)

func (d *doctor) ping(ctx context.Context, b kadm.BrokerDetail) (time.Duration, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "weir", "1"
	began := time.Now()
	_, err := d.cl.Broker(int(b.NodeID)).Request(ctx, req)
	return time.Since(began), err
}

// versions checks the release of the brokers, as far as their API reveals it, and
// transaction.version.
func (d *doctor) versions(ctx context.Context) {
	if all, err := d.adm.ApiVersions(ctx); err == nil {
		var seen []string
		for _, v := range all.Sorted() {
			if v.Err == nil && !slices.Contains(seen, v.VersionGuess()) {
				seen = append(seen, v.VersionGuess())
			}
		}
		d.release(seen)
	}
	v, err := kafka.TransactionVersion(ctx, d.cl)
	if err != nil {
		d.bad("transaction.version", Error, err.Error(), "see the brokers' logs")
		return
	}
	d.addCheck(v >= 2, Check{
		Name: "transaction.version", Severity: Error, Detail: fmt.Sprintf("finalized at %d; 2 is needed", v),
		Remedy: "kafka-features.sh --bootstrap-server ... upgrade --feature transaction.version=2 (Kafka 4.0 or newer): below 2 a late request of an earlier transaction can end up in the next one (KIP-890)",
	})
}

// release checks the releases that the APIs of the brokers resemble.
func (d *doctor) release(seen []string) {
	if d.DevCluster != "" && d.meta.Cluster == d.DevCluster {
		d.good("kafka version", "the dev broker, for development and tests; it has what weir needs of Kafka 4.0")
		return
	}
	detail := "the API of Kafka " + strings.Join(seen, " and ")
	for _, text := range seen {
		var major int
		if _, v, found := strings.Cut(text, "v"); !found || !scan(v, &major) || major < oldestRelease {
			d.bad("kafka version", Warning, fmt.Sprintf("%s; %d.0 or newer is needed", detail, oldestRelease),
				fmt.Sprintf("upgrade the brokers to Kafka %d.0 or newer", oldestRelease))
			return
		}
	}
	d.addCheck(len(seen) == 1,
		Check{Name: "kafka version", Severity: Warning, Detail: detail, Remedy: "the brokers have different versions: finish the upgrade"})
}

// oldestRelease is the major version of the oldest Kafka with all that the runtime needs.
const oldestRelease = 4

// scan reads the number at the beginning of text.
func scan(text string, n *int) bool {
	_, err := fmt.Sscanf(text, "%d", n)
	return err == nil
}

// singleBroker reports once that a cluster has one broker, and lowers what is wanted of topics to
// that.
func (d *doctor) singleBroker() {
	if !d.single() {
		return
	}
	d.bad("replication", Warning,
		"the cluster has one broker, so every topic has one replica: enough for development; acknowledged records are lost with the disk of the broker",
		fmt.Sprintf("for production use three brokers, %s 3 and %s 2", d.Defaults.Names.ReplicationFactor, d.Defaults.Names.MinInsync))
	if d.Defaults.check() != nil { // the check of the topics reports it
		return
	}
	d.Defaults.ReplicationFactor, d.Defaults.MinInsync = min(d.Defaults.ReplicationFactor, 1), min(d.Defaults.MinInsync, 1)
}

// settings checks the broker settings that limit the timeouts and sizes of the clients.
func (d *doctor) settings(ctx context.Context) {
	all, err := d.brokerConfigs(ctx)
	if err != nil {
		d.bad("broker settings", Warning, "cannot be read: "+err.Error(),
			"allow DescribeConfigs on the cluster, or check group.min.session.timeout.ms and transaction.max.timeout.ms by hand")
		return
	}
	for _, c := range []struct {
		name string
		ok   func(ms int64) bool
		want string
		do   string
	}{
		{
			"group.min.session.timeout.ms", func(ms int64) bool { return ms <= d.SessionTimeout.Milliseconds() },
			fmt.Sprintf("at most %s, %s", d.Defaults.Names.SessionTimeout, d.SessionTimeout),
			"raise " + d.Defaults.Names.SessionTimeout + ", or lower the setting of the brokers",
		},
		{
			"group.max.session.timeout.ms", func(ms int64) bool { return ms >= d.SessionTimeout.Milliseconds() },
			fmt.Sprintf("at least %s, %s", d.Defaults.Names.SessionTimeout, d.SessionTimeout),
			"lower " + d.Defaults.Names.SessionTimeout + ", or raise the setting of the brokers",
		},
		{
			"transaction.max.timeout.ms", func(ms int64) bool { return ms >= max(d.TransactionTimeout, resolveTimeout).Milliseconds() },
			fmt.Sprintf("at least %s: %s, and %s to replay dead letters", max(d.TransactionTimeout, resolveTimeout),
				d.Defaults.Names.TransactionTimeout, resolveTimeout),
			"raise the setting of the brokers, or lower " + d.Defaults.Names.TransactionTimeout,
		},
		{
			"message.max.bytes", func(n int64) bool { return n >= 1<<20-64 },
			"about 1 MiB or more; weir's topics set their own max.message.bytes",
			"raise it: topics of other programs accept smaller batches than the clients send",
		},
	} {
		var found []string
		ok := true
		for _, configs := range all {
			text, known := configs[c.name]
			v, err := strconv.ParseInt(text, 10, 64)
			if !known || err != nil {
				continue
			}
			ok = ok && c.ok(v)
			if !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
		if len(found) > 0 {
			severity := Error
			if c.name == "message.max.bytes" {
				severity = Warning
			}
			d.addCheck(ok,
				Check{Name: c.name, Severity: severity, Detail: strings.Join(found, " and ") + "; wanted: " + c.want, Remedy: c.do})
		}
	}
}

func (d *doctor) brokerConfigs(ctx context.Context) (map[string]map[string]string, error) {
	meta, err := d.adm.BrokerMetadata(ctx)
	if err != nil {
		return nil, err
	}
	got, err := d.adm.DescribeBrokerConfigs(ctx, meta.Brokers.NodeIDs()...)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	for _, rc := range got {
		if rc.Err != nil {
			return nil, rc.Err
		}
		out[rc.Name] = map[string]string{}
		for _, c := range rc.Configs {
			out[rc.Name][c.Key] = c.MaybeValue()
		}
	}
	return out, nil
}

// topics checks that PlanTopics returns no steps.
func (d *doctor) topics(ctx context.Context) {
	if len(d.Topics) == 0 {
		return
	}
	if err := d.Defaults.check(); err != nil {
		d.bad("topics", Error, err.Error(),
			fmt.Sprintf("lower %s, or raise %s", d.Defaults.Names.MinInsync, d.Defaults.Names.ReplicationFactor))
		return
	}
	steps, err := plan(ctx, d.adm, d.Topics, d.Defaults)
	if err != nil {
		d.bad("topics", Error, err.Error(), "allow Describe and DescribeConfigs on the topics, or see the brokers' logs")
		return
	}
	for _, s := range steps {
		c := Check{Name: "topic " + s.Topic, Severity: Error, Detail: "needed: " + s.String(), Remedy: d.Defaults.Names.Apply}
		switch {
		case s.Kind == StepAlter:
			c.Severity = Warning
		case s.Kind == StepConflict:
			c.Detail, c.Remedy, _ = strings.Cut(s.Reason, "; ")
		}
		d.addCheck(false, c)
	}
	if len(steps) == 0 {
		d.good("topics", "all %d topics have the required settings", len(d.Topics))
	}
}

// replication checks the replicas of our topics and of Kafka's internal topics.
func (d *doctor) replication(ctx context.Context) {
	names := []string{"__consumer_offsets", "__transaction_state"}
	for _, t := range d.Topics {
		names = append(names, t.Name)
	}
	list, err := d.adm.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		d.bad("replication", Warning, err.Error(), "see the brokers' logs")
		return
	}
	var few, leaderless, behind, existing []string
	for _, t := range list.Sorted() {
		if t.Err != nil {
			continue
		}
		existing = append(existing, t.Topic)
		if n := t.Partitions.NumReplicas(); n < 3 {
			few = append(few, fmt.Sprintf("%s has %d", t.Topic, n))
		}
		for _, p := range t.Partitions.Sorted() {
			switch {
			case p.Leader < 0:
				leaderless = append(leaderless, fmt.Sprintf("%s[%d]", t.Topic, p.Partition))
			case len(p.ISR) < len(p.Replicas):
				behind = append(behind, fmt.Sprintf("%s[%d]", t.Topic, p.Partition))
			}
		}
	}
	d.addCheck(len(leaderless) == 0,
		Check{
			Name: "leaders", Severity: Error, Detail: summary(leaderless, "every partition has a leader", "without a leader"),
			Remedy: "start the brokers that have these partitions",
		})
	d.addCheck(len(behind) == 0,
		Check{
			Name: "in-sync copies", Severity: Warning, Detail: summary(behind, "every replica is in sync", "with replicas that are behind"),
			Remedy: "start the brokers that have these partitions, or wait until their replicas have caught up",
		})
	if !d.single() {
		d.addCheck(len(few) == 0, Check{
			Name: "replication factor", Severity: Warning,
			Detail: summary(few, "every topic has 3 or more replicas", "with fewer than 3 replicas"),
			Remedy: fmt.Sprintf(
				"exactly-once survives the loss of a broker only with 3 replicas: create topics with %s 3, and set offsets.topic.replication.factor and transaction.state.log.replication.factor of the brokers", d.Defaults.Names.ReplicationFactor),
		})
	}
	d.inSync(ctx, list, existing)
}

// inSync checks min.insync.replicas and the election of leaders of existing topics.
func (d *doctor) inSync(ctx context.Context, list kadm.TopicDetails, existing []string) {
	configs, err := topics.Describe(ctx, d.adm, existing)
	if err != nil {
		d.bad("min.insync.replicas", Warning, "cannot be read: "+err.Error(), "allow DescribeConfigs on the topics")
		return
	}
	var low, high, unclean []string
	for _, topic := range existing {
		n, err := strconv.Atoi(configs[topic]["min.insync.replicas"])
		replicas := list[topic].Partitions.NumReplicas()
		switch {
		case err != nil:
		case n > replicas:
			high = append(high, fmt.Sprintf("%s has %d of %d replicas", topic, n, replicas))
		case n < 2:
			low = append(low, fmt.Sprintf("%s has %d", topic, n))
		}
		if configs[topic]["unclean.leader.election.enable"] == "true" {
			unclean = append(unclean, topic)
		}
	}
	switch {
	case len(high) > 0:
		d.bad("min.insync.replicas", Error, summary(high, "", "above the number of replicas, so that no record can be written"),
			fmt.Sprintf("lower %s to less than the number of replicas, then %s", d.Defaults.Names.MinInsync, d.Defaults.Names.Apply))
	case !d.single():
		d.addCheck(len(low) == 0, Check{
			Name: "min.insync.replicas", Severity: Warning, Detail: summary(low, "2 or more for every topic", "below 2"),
			Remedy: fmt.Sprintf("with 1, acknowledged records can be lost with one disk: set %s to 2, then %s", d.Defaults.Names.MinInsync,
				d.Defaults.Names.Apply),
		})
	}
	d.addCheck(len(unclean) == 0, Check{
		Name: "unclean leader election", Severity: Warning, Detail: summary(unclean, "off", "with unclean leader election"),
		Remedy: "set unclean.leader.election.enable=false: a leader that is behind loses acknowledged records",
	})
}

// summary names the first few topics or partitions in wrong. fine is the text for an empty list.
func summary(wrong []string, fine, what string) string {
	if len(wrong) == 0 {
		return fine
	}
	shown := wrong[:min(len(wrong), 5)]
	more := ""
	if n := len(wrong) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%d %s: %s%s", len(wrong), what, strings.Join(shown, ", "), more)
}

// clock compares this machine's clock with the broker timestamps of the newest records. The
// comparison is one-sided: an old record proves nothing, but a record from the future proves that
// this clock is behind or the broker's is ahead.
func (d *doctor) clock(ctx context.Context) {
	var stamped []string
	for _, t := range d.Topics {
		if t.Config["message.timestamp.type"] == "LogAppendTime" {
			stamped = append(stamped, t.Name)
		}
	}
	if len(stamped) == 0 {
		return
	}
	newest := int64(-1)
	got, err := d.adm.ListMaxTimestampOffsets(ctx, stamped...)
	if err != nil {
		return
	}
	got.Each(func(o kadm.ListedOffset) {
		if o.Err == nil {
			newest = max(newest, o.Timestamp)
		}
	})
	if newest < 0 {
		d.good("clock", "not compared: no record has a broker timestamp yet")
		return
	}
	ahead := time.Until(time.UnixMilli(newest))
	detail := fmt.Sprintf("the newest record has a time %s ago", (-ahead).Round(time.Millisecond))
	if ahead > 0 {
		detail = fmt.Sprintf("the newest record has a time %s in our future", ahead.Round(time.Millisecond))
	}
	d.addCheck(ahead <= d.MaxSkew,
		Check{Name: "clock", Severity: Warning, Detail: detail, Remedy: "synchronise the clocks of this machine and of the brokers (NTP)"})
}
