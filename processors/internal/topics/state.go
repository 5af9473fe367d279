package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// StatePartitions returns the number of partitions of the state of a processor in its changelog. It
// reads App, Changelog and Partitions of p.
//
// It is the number up to the last partition that has, or had, a record: a process writes to each
// partition that it takes, and to none that an administrator has added. If the changelog has
// p.Partitions partitions and the last ones have no record, a first start may be in progress, or an
// administrator has changed both numbers: then it is the number in the offsets of the group, or
// else p.Partitions. 0: no process has run, or there is no changelog.
func StatePartitions(ctx context.Context, adm *kadm.Client, p *stream.Processor) (n int32, err error) {
	log := p.Changelog
	ends, err := adm.ListEndOffsets(ctx, log)
	if err != nil {
		return 0, fmt.Errorf("read the end offsets of %s: %w", log, err)
	}
	for i, o := range ends[log] {
		switch {
		case errors.Is(o.Err, kerr.UnknownTopicOrPartition):
			return 0, nil
		case o.Err != nil:
			return 0, fmt.Errorf("read the end offset of %s[%d]: %w", log, i, o.Err)
		case o.Offset > 0:
			n = max(n, i+1)
		}
	}
	if len(ends[log]) != int(p.Partitions) || n == p.Partitions {
		return n, nil
	}
	if n > 0 {
		if n, err = recordedPartitions(ctx, adm, p); err != nil {
			return 0, err
		}
	}
	return cmp.Or(n, p.Partitions), nil
}

// recordedPartitions returns the number of partitions that the last transactions of a processor
// have recorded in the offsets of its group; 0 if no transaction has, or if the client has no
// access.
func recordedPartitions(ctx context.Context, adm *kadm.Client, p *stream.Processor) (int32, error) {
	offsets, err := adm.FetchOffsets(ctx, p.App)
	switch {
	case errors.Is(err, kerr.GroupAuthorizationFailed), errors.Is(err, kerr.GroupIDNotFound):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("read the offsets of group %s: %w", p.App, err)
	}
	for _, o := range offsets.Sorted() {
		if n := changelogpb.ParseNote(o.Metadata); o.Err == nil && n.Changelog == p.Changelog && n.Partitions > 0 {
			return n.Partitions, nil
		}
	}
	return 0, nil
}

// Added are partitions of a topic behind those of the state of its application: an administrator
// has added them, and no process reads them.
type Added struct {
	Topic string
	State int32 // partitions of the state
	Has   int32 // partitions of the topic; more than State
}

// String names the partitions: "partitions 6 and 7 of ads.events were added, and are not read".
func (a Added) String() string {
	switch first, last := a.State, a.Has-1; last - first {
	case 0:
		return fmt.Sprintf("partition %d of %s was added, and is not read", first, a.Topic)
	case 1:
		return fmt.Sprintf("partitions %d and %d of %s were added, and are not read", first, last, a.Topic)
	default:
		return fmt.Sprintf("partitions %d to %d of %s were added, and are not read", first, last, a.Topic)
	}
}

// Remedy returns what to do about them.
func (a Added) Remedy() string {
	return fmt.Sprintf(
		"set the producers back to %d partitions, send the records of the added partitions again, then delete these records with kafka-delete-records.sh; Kafka cannot remove partitions", a.State)
}
