package kafkaadmin

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// AddedPartitions are partitions that an administrator has added to a topic of an application. No
// process reads them.
type AddedPartitions = topics.Added

// StatePartitions returns the number of partitions of the state of a processor in its changelog.
// Partitions that an administrator has added do not count. App, Changelog and Partitions, as
// configured, are read of p. 0: no process has run, or there is no changelog.
func StatePartitions(ctx context.Context, k kafka.Cluster, p *stream.Processor) (int32, error) {
	cl, err := k.Connect(ctx)
	if err != nil {
		return 0, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	return topics.StatePartitions(ctx, kadm.NewClient(cl), p)
}

// partitionConflict returns the reason of the step for a topic that has another number of
// partitions than it must have: the difference; the remedy. The number of the state decides which
// of the two numbers is wrong.
func (d Defaults) partitionConflict(ctx context.Context, adm *kadm.Client, t stream.Topic, has int32) (string, error) {
	state := int32(0)
	if t.Changelog != "" {
		var err error // partitions of the changelog without a record may have been added, too
		if state, err = topics.StatePartitions(ctx, adm, &stream.Processor{Changelog: t.Changelog}); err != nil {
			return "", err
		}
	}
	setting := d.Names.Partitions(t.Name)
	switch {
	case state == 0:
		return fmt.Sprintf(
			"it has %d partitions and must have %d; the number is never changed in place, because keys would move to partitions without their state: if %d is right, and nothing has been processed yet, set %s to that; for another number %s",
			has, t.Partitions, has, setting, d.Names.Repartition), nil
	case state != t.Partitions:
		return fmt.Sprintf("it has %d partitions and must have %d, and the state has %d partitions; set %s to %d; for another number %s",
			has, t.Partitions, state, setting, state, d.Names.Repartition), nil
	case has > state:
		added := AddedPartitions{Topic: t.Name, State: state, Has: has}
		return added.String() + "; " + added.Remedy(), nil
	}
	return fmt.Sprintf(
		"it has %d partitions and must have %d, as many as the state; add the missing ones with kafka-topics.sh --alter --partitions %d",
		has, state, state), nil
}
