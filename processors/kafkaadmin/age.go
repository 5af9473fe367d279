package kafkaadmin

import (
	"context"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

const (
	ageWait     = 3 * time.Second // for all partitions together
	ageParallel = 16              // concurrent fetches
	ageBytes    = 64 << 10        // bytes of a fetch for one record; a larger batch is fetched whole
)

// ages sets LagSeconds of the rows with a lag: it fetches the oldest unprocessed record of each
// partition. If no broker answers in time, LagSeconds is -1.
func ages(ctx context.Context, cl *kgo.Client, rows []PartitionLag) error {
	ctx, cancel := context.WithTimeout(ctx, ageWait)
	defer cancel()
	scanners := map[string]*scanner{}
	var group errgroup.Group
	group.SetLimit(ageParallel)
	for i := range rows {
		row := &rows[i]
		if row.Lag == 0 {
			continue
		}
		s := scanners[row.Topic]
		if s == nil {
			var err error
			if s, err = newScanner(ctx, cl, row.Topic); err != nil {
				return err
			}
			s.bytes, scanners[row.Topic] = ageBytes, s
		}
		group.Go(func() error {
			row.LagSeconds = s.age(ctx, row)
			return nil
		})
	}
	return group.Wait()
}

// age returns the age in seconds of the row's first unprocessed record; 0 if only transaction
// markers are left.
func (s *scanner) age(ctx context.Context, row *PartitionLag) float64 {
	for at := max(row.Committed, row.Start); at < row.LastStable; {
		got, next, err := s.fetch(ctx, row.Partition, at)
		switch {
		case len(got.Records) > 0 && got.Records[0].Offset < row.LastStable:
			seconds := max(0, time.Since(got.Records[0].Timestamp).Seconds())
			return math.Round(seconds*1000) / 1000
		case err != nil:
			return -1
		case len(got.Records) > 0, next == at:
			return 0
		}
		at = next
	}
	return 0
}
