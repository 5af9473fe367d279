package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/kafka"
)

// Apply carries out steps in order and returns once the brokers show what was created. It stops at the first error; what
// was done stays, and Plan tells what is left. A topic that someone else created meanwhile is no error. Conflicts are
// passed over and make the error ErrConflict after all other steps are done.
func Apply(ctx context.Context, k kafka.Cluster, steps []Step) error {
	cl, err := k.Client()
	if err != nil {
		return fmt.Errorf("make client: %w", err)
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
			err = fmt.Errorf("a step of kind %q is not known", s.Kind)
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

func applyCreate(ctx context.Context, adm *kadm.Client, s Step) error {
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
		return fmt.Errorf("create topic %s: %w %s: there are fewer brokers than the %d copies wanted; start more brokers, or lower topics.replication_factor and topics.min_insync", s.Topic, r.Err, r.ErrMessage, s.ReplicationFactor)
	case r.Err != nil && !errors.Is(r.Err, kerr.TopicAlreadyExists):
		return fmt.Errorf("create topic %s: %w %s", s.Topic, r.Err, r.ErrMessage)
	}
	return nil
}

func applyAlter(ctx context.Context, adm *kadm.Client, s Step) error {
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

// awaitVisible waits until every topic has a leader for each partition: brokers learn of a new topic one after the other.
func awaitVisible(ctx context.Context, adm *kadm.Client, topics []string) error {
	if len(topics) == 0 {
		return nil
	}
	for {
		got, err := adm.ListTopics(ctx, topics...)
		if err == nil {
			err = got.Error()
		}
		if err == nil && hasLeaders(got) {
			return nil
		}
		t := time.NewTimer(50 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("wait for the new topics to have leaders: %w", errors.Join(ctx.Err(), err))
		case <-t.C:
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
