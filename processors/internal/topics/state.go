package topics

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// StatePartitions returns the number of partitions of the state in a changelog, of an application
// that is configured to have some number of them. It is that number if the changelog has as many
// partitions. Otherwise it is the number up to the last partition that has, or had, a record: a
// process writes to each partition that it takes, and to none that an administrator has added.
// 0: no process has run, or there is no changelog.
func StatePartitions(ctx context.Context, adm *kadm.Client, changelog string, configured int32) (n int32, err error) {
	ends, err := adm.ListEndOffsets(ctx, changelog)
	if err != nil {
		return 0, fmt.Errorf("read the end offsets of %s: %w", changelog, err)
	}
	for p, o := range ends[changelog] {
		switch {
		case errors.Is(o.Err, kerr.UnknownTopicOrPartition):
			return 0, nil
		case o.Err != nil:
			return 0, fmt.Errorf("read the end offset of %s[%d]: %w", changelog, p, o.Err)
		case o.Offset > 0:
			n = max(n, p+1)
		}
	}
	if len(ends[changelog]) == int(configured) {
		n = configured
	}
	return n, nil
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
	return fmt.Sprintf("set the producers back to %d partitions, send the records of the added partitions again, then delete these records with kafka-delete-records.sh; Kafka cannot remove partitions", a.State)
}
