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

	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// ErrConflict means that a topic has differences that no step may change.
var ErrConflict = errors.New("a topic has differences that cannot be changed in place")

// ErrReplication means that the number of brokers, the replication factor and min.insync.replicas
// do not fit together.
var ErrReplication = errors.New("replication is impossible")

// ErrUnknownTopic means that a topic does not exist.
var ErrUnknownTopic = errors.New("topic does not exist")

// unknownTopic wraps err in ErrUnknownTopic if that is the brokers' answer.
func unknownTopic(err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("%w: %w", ErrUnknownTopic, err)
	}
	return err
}

// StepKind is the kind of a TopicStep.
type StepKind string

// Kinds of steps.
const (
	StepCreate   StepKind = "create"
	StepAlter    StepKind = "alter"
	StepConflict StepKind = "conflict" // for a decision of an operator; ApplySteps skips it
)

// TopicSetting is one configuration entry of a topic.
type TopicSetting struct {
	Name    string `json:"name"`
	Current string `json:"was,omitempty"` // present value of an existing topic
	Want    string `json:"want"`
}

// TopicStep is one difference between the existing and the wanted topics.
type TopicStep struct {
	Kind       StepKind `json:"kind"`
	Topic      string   `json:"topic"`
	Partitions int32    `json:"partitions,omitempty"` // of a topic to create

	ReplicationFactor int16          `json:"replication_factor,omitempty"` // of a topic to create; -1 is the broker's default
	Settings          []TopicSetting `json:"settings,omitempty"`           // in the order of names
	Reason            string         `json:"why,omitempty"`                // of a conflict: the difference; the remedy
}

// Defaults are properties of topics that the catalogue does not define.
type Defaults struct {
	// ReplicationFactor is that of new topics. 0 takes the broker's default and checks nothing.
	ReplicationFactor int16
	// MinInsync is min.insync.replicas. 0 takes the broker's default.
	MinInsync int16
	// Names are the program's names of settings and commands in texts about these topics.
	Names RemedyNames
}

// settings returns the configuration that t should have.
func (d Defaults) settings(t stream.Topic) map[string]string {
	s := t.Settings()
	if d.MinInsync > 0 {
		s["min.insync.replicas"] = strconv.Itoa(int(d.MinInsync))
	}
	return s
}

// check returns an error if a topic with these defaults could not be written.
func (d Defaults) check() error {
	if d.ReplicationFactor > 0 && d.MinInsync > d.ReplicationFactor {
		return fmt.Errorf(
			"%w: min.insync.replicas %d is greater than the replication factor %d, so that no record could be written; lower %s or raise %s",
			ErrReplication, d.MinInsync, d.ReplicationFactor, d.Names.MinInsync, d.Names.ReplicationFactor)
	}
	return nil
}

// PlanTopics compares the existing topics with want and changes nothing. It ignores configuration
// entries that want does not name or the broker does not know. The steps are in the order of want.
func PlanTopics(ctx context.Context, k kafka.Cluster, want []stream.Topic, d Defaults) ([]TopicStep, error) {
	d.Names.setDefaults()
	if err := d.check(); err != nil {
		return nil, err
	}
	cl, err := k.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	return plan(ctx, kadm.NewClient(cl), want, d)
}

func plan(ctx context.Context, adm *kadm.Client, want []stream.Topic, d Defaults) ([]TopicStep, error) {
	var names []string
	for _, t := range want {
		names = append(names, t.Name)
	}
	have, err := existing(ctx, adm, names)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, n := range names {
		if have[n].Err == nil {
			found = append(found, n)
		}
	}
	configs, err := topics.Describe(ctx, adm, found)
	if err != nil {
		return nil, err
	}
	var steps []TopicStep
	for _, t := range want {
		detail := have[t.Name]
		if detail.Err != nil {
			steps = append(steps, create(t, d))
			continue
		}
		if has := int32(len(detail.Partitions)); has != t.Partitions {
			reason, err := d.partitionConflict(ctx, adm, t, has)
			if err != nil {
				return nil, err
			}
			steps = append(steps, TopicStep{Kind: StepConflict, Topic: t.Name, Reason: reason})
		}
		steps = append(steps, differences(t, detail, configs[t.Name], d)...)
	}
	return steps, nil
}

func create(t stream.Topic, d Defaults) TopicStep {
	s := TopicStep{Kind: StepCreate, Topic: t.Name, Partitions: t.Partitions, ReplicationFactor: d.ReplicationFactor}
	if s.ReplicationFactor == 0 {
		s.ReplicationFactor = -1
	}
	for name, v := range d.settings(t) {
		s.Settings = append(s.Settings, TopicSetting{Name: name, Want: v})
	}
	slices.SortFunc(s.Settings, func(a, b TopicSetting) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// differences returns the steps for the replicas and the settings of an existing topic.
func differences(t stream.Topic, have kadm.TopicDetail, configs map[string]string, d Defaults) []TopicStep {
	var steps []TopicStep
	if n := have.Partitions.NumReplicas(); n > 0 && n < int(d.ReplicationFactor) {
		steps = append(steps, TopicStep{Kind: StepConflict, Topic: t.Name, Reason: fmt.Sprintf(
			"it has %d replicas of each partition and should have %d; move the data with kafka-reassign-partitions.sh, or lower %s", n,
			d.ReplicationFactor, d.Names.ReplicationFactor)})
	}
	alter := TopicStep{Kind: StepAlter, Topic: t.Name}
	for _, x := range topics.Differing(configs, d.settings(t)) {
		alter.Settings = append(alter.Settings, TopicSetting(x))
	}
	if len(alter.Settings) > 0 {
		steps = append(steps, alter)
	}
	return steps
}

// String returns the step as a sentence.
func (s TopicStep) String() string {
	var set []string
	for _, x := range s.Settings {
		if s.Kind == StepAlter {
			set = append(set, fmt.Sprintf("%s from %s to %s", x.Name, orNothing(x.Current), x.Want))
		} else {
			set = append(set, x.Name+"="+x.Want)
		}
	}
	switch s.Kind {
	case StepCreate:
		copies := "the broker's default number of replicas"
		if s.ReplicationFactor > 0 {
			copies = fmt.Sprintf("%d replicas", s.ReplicationFactor)
		}
		return fmt.Sprintf("create topic %s with %d partitions, %s and %s", s.Topic, s.Partitions, copies, strings.Join(set, ", "))
	case StepAlter:
		return fmt.Sprintf("change topic %s: %s", s.Topic, strings.Join(set, ", "))
	case StepConflict:
		return fmt.Sprintf("leave topic %s: %s", s.Topic, s.Reason)
	}
	return fmt.Sprintf("%s topic %s", s.Kind, s.Topic)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
