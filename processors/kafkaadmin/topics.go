package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
)

// ErrConflict says that a topic differs in a way that no step may change.
var ErrConflict = errors.New("topics differ in what cannot be changed in place")

// StepKind is what a Step does.
type StepKind string

// Kinds of steps.
const (
	StepCreate   StepKind = "create"
	StepAlter    StepKind = "alter"
	StepConflict StepKind = "conflict" // for a person to decide; Apply leaves it
)

// Setting is one configuration of a topic.
type Setting struct {
	Name string `json:"name"`
	Was  string `json:"was,omitempty"` // of an existing topic
	Want string `json:"want"`
}

// Step is one difference between the topics that are and those that should be. It prints as a sentence.
type Step struct {
	Kind              StepKind  `json:"kind"`
	Topic             string    `json:"topic"`
	Partitions        int32     `json:"partitions,omitempty"`         // of a topic to create
	ReplicationFactor int16     `json:"replication_factor,omitempty"` // the same; -1 is the broker's default
	Settings          []Setting `json:"settings,omitempty"`           // in order of their names
	Why               string    `json:"why,omitempty"`                // of a conflict: what it is and what to do
}

// Defaults are what the catalogue leaves to the cluster.
type Defaults struct {
	// ReplicationFactor of new topics. 0 takes the broker's default and checks nothing.
	ReplicationFactor int16
	// MinInsync is min.insync.replicas. 0 leaves it to the broker.
	MinInsync int16
}

// settings are the configurations that t should have.
func (d Defaults) settings(t events.Topic) map[string]string {
	s := t.Settings()
	if d.MinInsync > 0 {
		s["min.insync.replicas"] = strconv.Itoa(int(d.MinInsync))
	}
	return s
}

// Plan compares the topics that are with those wanted. It changes nothing. Configurations that want does not name are
// left as they are; those that the broker does not know at all are passed over. The steps are in the order of want.
func Plan(ctx context.Context, k kafka.Cluster, want []events.Topic, d Defaults) ([]Step, error) {
	if d.ReplicationFactor > 0 && d.MinInsync > d.ReplicationFactor {
		return nil, fmt.Errorf("min.insync.replicas %d is more than replication factor %d: no record could be written; lower topics.min_insync or raise topics.replication_factor", d.MinInsync, d.ReplicationFactor)
	}
	cl, err := k.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	return plan(ctx, kadm.NewClient(cl), want, d)
}

func plan(ctx context.Context, adm *kadm.Client, want []events.Topic, d Defaults) ([]Step, error) {
	var names []string
	for _, t := range want {
		names = append(names, t.Name)
	}
	have, err := adm.ListTopics(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	var there []string
	for _, n := range names {
		switch err := have[n].Err; {
		case err == nil:
			there = append(there, n)
		case !errors.Is(err, kerr.UnknownTopicOrPartition):
			return nil, fmt.Errorf("look at topic %s: %w", n, err)
		}
	}
	configs, err := describe(ctx, adm, there)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, t := range want {
		if detail := have[t.Name]; detail.Err == nil {
			steps = append(steps, differences(t, detail, configs[t.Name], d)...)
		} else {
			steps = append(steps, create(t, d))
		}
	}
	return steps, nil
}

// describe reads the effective configurations of topics.
func describe(ctx context.Context, adm *kadm.Client, topics []string) (map[string]map[string]string, error) {
	got, err := adm.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("read topic configurations: %w", err)
	}
	out := map[string]map[string]string{}
	for _, rc := range got {
		if rc.Err != nil {
			return nil, fmt.Errorf("read the configuration of topic %s: %w %s", rc.Name, rc.Err, rc.ErrMessage)
		}
		out[rc.Name] = map[string]string{}
		for _, c := range rc.Configs {
			out[rc.Name][c.Key] = c.MaybeValue()
		}
	}
	return out, nil
}

func create(t events.Topic, d Defaults) Step {
	s := Step{Kind: StepCreate, Topic: t.Name, Partitions: t.Partitions, ReplicationFactor: d.ReplicationFactor}
	if s.ReplicationFactor == 0 {
		s.ReplicationFactor = -1
	}
	for name, v := range d.settings(t) {
		s.Settings = append(s.Settings, Setting{Name: name, Want: v})
	}
	slices.SortFunc(s.Settings, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// differences are the steps for a topic that exists.
func differences(t events.Topic, have kadm.TopicDetail, configs map[string]string, d Defaults) []Step {
	var steps []Step
	if n := int32(len(have.Partitions)); n != t.Partitions {
		steps = append(steps, Step{Kind: StepConflict, Topic: t.Name, Why: fmt.Sprintf(
			"it has %d partitions and must have %d; it is left alone, because another count sends keys to other partitions than their state is in: if %d is right, set spend.partitions to that; for another number `weir repartition --help` says how to move to new topics", n, t.Partitions, n)})
	}
	if n := have.Partitions.NumReplicas(); n > 0 && n < int(d.ReplicationFactor) {
		steps = append(steps, Step{Kind: StepConflict, Topic: t.Name, Why: fmt.Sprintf(
			"it has %d copies of each partition and should have %d; moving data is left to you: use kafka-reassign-partitions.sh, or lower topics.replication_factor", n, d.ReplicationFactor)})
	}
	alter := Step{Kind: StepAlter, Topic: t.Name}
	for name, want := range d.settings(t) {
		if was, known := configs[name]; known && !same(was, want) {
			alter.Settings = append(alter.Settings, Setting{Name: name, Was: was, Want: want})
		}
	}
	if len(alter.Settings) > 0 {
		slices.SortFunc(alter.Settings, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
		steps = append(steps, alter)
	}
	return steps
}

// same compares values as Kafka means them: numbers by value, lists as sets.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	if errA == nil && errB == nil {
		return x == y
	}
	return slices.Equal(list(a), list(b))
}

func list(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		out = append(out, strings.TrimSpace(part))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// String is the step as a sentence.
func (s Step) String() string {
	var set []string
	for _, x := range s.Settings {
		if s.Kind == StepAlter {
			set = append(set, fmt.Sprintf("%s from %s to %s", x.Name, orNothing(x.Was), x.Want))
		} else {
			set = append(set, x.Name+"="+x.Want)
		}
	}
	switch s.Kind {
	case StepCreate:
		copies := "the broker's default of copies"
		if s.ReplicationFactor > 0 {
			copies = fmt.Sprintf("%d copies", s.ReplicationFactor)
		}
		return fmt.Sprintf("create topic %s with %d partitions, %s and %s", s.Topic, s.Partitions, copies, strings.Join(set, ", "))
	case StepAlter:
		return fmt.Sprintf("change topic %s: %s", s.Topic, strings.Join(set, ", "))
	case StepConflict:
		return fmt.Sprintf("leave topic %s: %s", s.Topic, s.Why)
	}
	return fmt.Sprintf("%s topic %s", s.Kind, s.Topic)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
