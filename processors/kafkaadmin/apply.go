package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

// ApplySteps carries out steps in order and returns when the brokers report the new topics. It
// stops at the first error and keeps what was done; PlanTopics then returns the remaining steps. A
// topic that another client created in the meantime is not an error. Conflicts are skipped; if
// there are any, the error after all other steps wraps ErrConflict.
func ApplySteps(ctx context.Context, k kafka.Cluster, steps []TopicStep) error {
	cl, err := k.Connect(ctx)
	if err != nil {
		return fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	var conflicts []error
	var created []string
	for _, s := range steps {
		switch s.Kind {
		case StepCreate:
			created = append(created, s.Topic)
			err = applyCreate(ctx, adm, s)
		case StepAlter:
			err = applyAlter(ctx, adm, s)
		case StepConflict:
			conflicts = append(conflicts, fmt.Errorf("%w: %s", ErrConflict, s))
		default:
			err = fmt.Errorf("unknown kind of step: %q", s.Kind)
		}
		if err != nil {
			return err
		}
	}
	if err := awaitVisible(ctx, adm, created); err != nil {
		return err
	}
	return errors.Join(conflicts...)
}

func applyCreate(ctx context.Context, adm *kadm.Client, s TopicStep) error {
	configs := map[string]*string{}
	for _, x := range s.Settings {
		configs[x.Name] = kadm.StringPtr(x.Want)
	}
	got, err := adm.CreateTopics(ctx, s.Partitions, s.ReplicationFactor, configs, s.Topic)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", s.Topic, err)
	}
	r := got[s.Topic]
	switch {
	case errors.Is(r.Err, kerr.InvalidReplicationFactor):
		return fmt.Errorf(
			"create topic %s: %w: %w %s: there are fewer brokers than the %d replicas of each partition; start more brokers, or plan with a lower replication factor", s.Topic, ErrReplication, r.Err, r.ErrMessage, s.ReplicationFactor)
	case r.Err != nil && !errors.Is(r.Err, kerr.TopicAlreadyExists):
		return fmt.Errorf("create topic %s: %w %s", s.Topic, r.Err, r.ErrMessage)
	}
	return nil
}

func applyAlter(ctx context.Context, adm *kadm.Client, s TopicStep) error {
	var changes []kadm.AlterConfig
	for _, x := range s.Settings {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: x.Name, Value: kadm.StringPtr(x.Want)})
	}
	got, err := adm.AlterTopicConfigs(ctx, changes, s.Topic)
	if err != nil {
		return fmt.Errorf("change topic %s: %w", s.Topic, err)
	}
	for _, r := range got {
		if r.Err != nil {
			return fmt.Errorf("change topic %s: %w %s", s.Topic, r.Err, r.ErrMessage)
		}
	}
	return nil
}

// awaitVisible waits until every partition of the topics has a leader: brokers learn of a new topic
// one after the other.
func awaitVisible(ctx context.Context, adm *kadm.Client, topics []string) error {
	if len(topics) == 0 {
		return nil
	}
	for {
		got, err := adm.ListTopics(kafka.Uncached(ctx), topics...)
		if err == nil {
			err = got.Error()
		}
		if err == nil && hasLeaders(got) {
			return nil
		}
		if !pause.For(ctx, 50*time.Millisecond) {
			return fmt.Errorf("wait for leaders of the new topics: %w", errors.Join(ctx.Err(), err))
		}
	}
}

func hasLeaders(topics kadm.TopicDetails) bool {
	for _, t := range topics {
		for _, p := range t.Partitions {
			if p.Err != nil || p.Leader < 0 {
				return false
			}
		}
	}
	return true
}
