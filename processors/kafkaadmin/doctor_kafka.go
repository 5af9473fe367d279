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

	"github.com/weirhq/weir/processors/kafka"
)

func (d *doctor) ping(ctx context.Context, b kadm.BrokerDetail) (time.Duration, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "weir", "1"
	began := time.Now()
	_, err := d.cl.Broker(int(b.NodeID)).Request(ctx, req)
	return time.Since(began), err
}

// versions are the release, as far as it can be told, and the transaction protocol.
func (d *doctor) versions(ctx context.Context) {
	if all, err := d.adm.ApiVersions(ctx); err == nil {
		var seen []string
		for _, v := range all.Sorted() {
			if v.Err == nil && !slices.Contains(seen, v.VersionGuess()) {
				seen = append(seen, v.VersionGuess())
			}
		}
		d.judge(len(seen) == 1, Check{
			Name: "kafka version", Severity: Warning, Detail: "speaks like Kafka " + strings.Join(seen, " and "),
			Remedy: "brokers of different versions are for the time of an upgrade: finish it",
		})
	}
	v, err := kafka.TransactionVersion(ctx, d.cl)
	if err != nil {
		d.bad("transaction.version", Error, err.Error(), "see the brokers' logs")
		return
	}
	d.judge(v >= 2, Check{
		Name: "transaction.version", Severity: Error, Detail: fmt.Sprintf("finalised at %d, needed are 2", v),
		Remedy: "kafka-features.sh --bootstrap-server ... upgrade --feature transaction.version=2 (Kafka 4.0 or newer): below 2 a late request of a dead transaction can land in the next one (KIP-890)",
	})
}

// settings are those of the brokers that bound what we may ask for.
func (d *doctor) settings(ctx context.Context) {
	all, err := d.brokerConfigs(ctx)
	if err != nil {
		d.bad("broker settings", Warning, "cannot be read: "+err.Error(), "allow DescribeConfigs on the cluster, or check group.min.session.timeout.ms and transaction.max.timeout.ms by hand")
		return
	}
	for _, c := range []struct {
		name string
		ok   func(ms int64) bool
		want string
		do   string
	}{
		{"group.min.session.timeout.ms", func(ms int64) bool { return ms <= d.SessionTimeout.Milliseconds() }, fmt.Sprintf("at most processor.session_timeout, %s", d.SessionTimeout), "raise processor.session_timeout, or lower the setting of the brokers"},
		{"group.max.session.timeout.ms", func(ms int64) bool { return ms >= d.SessionTimeout.Milliseconds() }, fmt.Sprintf("at least processor.session_timeout, %s", d.SessionTimeout), "lower processor.session_timeout, or raise the setting of the brokers"},
		{"transaction.max.timeout.ms", func(ms int64) bool { return ms >= max(d.TransactionTimeout, resolveTimeout).Milliseconds() }, fmt.Sprintf("at least %s: processor.transaction_timeout, and %s to replay dead letters", max(d.TransactionTimeout, resolveTimeout), resolveTimeout), "raise the setting of the brokers, or lower processor.transaction_timeout"},
		{"message.max.bytes", func(n int64) bool { return n >= 1<<20-64 }, "about 1 MiB or more; our topics set max.message.bytes of their own", "topics that others create take smaller batches than the clients here send: raise it"},
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
			d.judge(ok, Check{Name: c.name, Severity: severity, Detail: strings.Join(found, " and ") + "; wanted: " + c.want, Remedy: c.do})
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

// topics are as the catalogue wants them, and have leaders.
func (d *doctor) topics(ctx context.Context) {
	if len(d.Topics) == 0 {
		return
	}
	steps, err := plan(ctx, d.adm, d.Topics, d.Defaults)
	if err != nil {
		d.bad("topics", Error, err.Error(), "allow Describe and DescribeConfigs on them, or see the brokers' logs")
		return
	}
	for _, s := range steps {
		c := Check{Name: "topic " + s.Topic, Severity: Error, Detail: "must be: " + s.String(), Remedy: "run `" + d.Apply + "`"}
		switch {
		case s.Kind == StepAlter:
			c.Severity = Warning
		case s.Kind == StepConflict:
			c.Detail, c.Remedy, _ = strings.Cut(s.Why, "; ")
		}
		d.judge(false, c)
	}
	if len(steps) == 0 {
		d.good("topics", "all %d are as they should be", len(d.Topics))
	}
}

// replication rest on copies: of our topics, and of those in which Kafka keeps offsets and transactions.
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
	var few, headless, behind, there []string
	for _, t := range list.Sorted() {
		if t.Err != nil {
			continue
		}
		there = append(there, t.Topic)
		if n := t.Partitions.NumReplicas(); n < 3 {
			few = append(few, fmt.Sprintf("%s has %d", t.Topic, n))
		}
		for _, p := range t.Partitions.Sorted() {
			switch {
			case p.Leader < 0:
				headless = append(headless, fmt.Sprintf("%s[%d]", t.Topic, p.Partition))
			case len(p.ISR) < len(p.Replicas):
				behind = append(behind, fmt.Sprintf("%s[%d]", t.Topic, p.Partition))
			}
		}
	}
	d.judge(len(headless) == 0, Check{Name: "leaders", Severity: Error, Detail: summary(headless, "every partition has a leader", "without a leader"), Remedy: "start the brokers that hold them"})
	d.judge(len(behind) == 0, Check{Name: "in-sync copies", Severity: Warning, Detail: summary(behind, "every copy is in sync", "with copies that are behind"), Remedy: "start the brokers that hold them, or wait until they caught up"})
	d.judge(len(few) == 0, Check{
		Name: "replication factor", Severity: Warning, Detail: summary(few, "3 or more copies everywhere", "with less than 3 copies"),
		Remedy: "exactly-once survives the loss of a broker only with 3 copies: create topics with topics.replication_factor 3, and set offsets.topic and transaction.state.log.replication.factor",
	})
	configs, err := describe(ctx, d.adm, there)
	if err != nil {
		d.bad("min.insync.replicas", Warning, "cannot be read: "+err.Error(), "allow DescribeConfigs on the topics")
		return
	}
	var low, unclean []string
	for _, topic := range there {
		if n, err := strconv.Atoi(configs[topic]["min.insync.replicas"]); err == nil && n < 2 {
			low = append(low, fmt.Sprintf("%s has %d", topic, n))
		}
		if configs[topic]["unclean.leader.election.enable"] == "true" {
			unclean = append(unclean, topic)
		}
	}
	d.judge(len(low) == 0, Check{
		Name: "min.insync.replicas", Severity: Warning, Detail: summary(low, "2 or more everywhere", "below 2"),
		Remedy: "with 1, what is acknowledged can be lost with one disk: set topics.min_insync 2 and run `" + d.Apply + "`",
	})
	d.judge(len(unclean) == 0, Check{
		Name: "unclean leader election", Severity: Warning, Detail: summary(unclean, "off", "where it is on"),
		Remedy: "set unclean.leader.election.enable=false: a leader that is behind cuts acknowledged records off",
	})
}

// summary names the first few of what is wrong.
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

// clock compares ours with the time that brokers stamped on the newest records. It is one-sided: an old record says
// nothing, but one from the future says that our clock is behind, or theirs ahead.
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
		d.good("clock", "not compared: no broker has stamped a record yet")
		return
	}
	ahead := time.Until(time.UnixMilli(newest))
	detail := fmt.Sprintf("the newest record was stamped %s ago", (-ahead).Round(time.Millisecond))
	if ahead > 0 {
		detail = fmt.Sprintf("the newest record is stamped %s in our future", ahead.Round(time.Millisecond))
	}
	d.judge(ahead <= d.MaxSkew, Check{Name: "clock", Severity: Warning, Detail: detail, Remedy: "synchronise the clocks of this machine and of the brokers (NTP)"})
}
