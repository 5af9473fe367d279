package kafkaadmin

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// CheckMove returns why p would not start because of a move of its state. If a former application
// has a state: processors.ErrNotMoved if no partition of p has one, processors.ErrPartlyMoved if
// some have none. If offline.Repartition has not completed the move to p: ErrPartlyMoved. If it has
// moved the state of p: processors.ErrMovedAway. former are processors.Config.FormerChangelogs.
func CheckMove(ctx context.Context, k kafka.Cluster, p stream.Processor, former ...string) error {
	cl, err := k.Connect(ctx)
	if err != nil {
		return fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	used, err := changelog.FirstUsed(ctx, adm, former...)
	if err != nil {
		return err
	}
	ends, err := logEnds(ctx, adm, []string{p.Changelog})
	if err != nil {
		return err
	}
	s, err := newScanner(ctx, cl, p.Changelog)
	if err != nil {
		return err
	}
	var stateless, incomplete int32
	partitions := cmp.Or(p.Partitions, int32(len(s.partitions())))
	for at := range partitions {
		start, _ := ends.start.Lookup(p.Changelog, at)
		stable, _ := ends.stable.Lookup(p.Changelog, at)
		m, err := s.lastMarker(ctx, at, start.Offset, stable.Offset)
		switch {
		case err != nil:
			return err
		case m == nil:
			stateless++
		case m.GetMovedTo() != "":
			return fmt.Errorf("%w: partition %d of %s to %s", processors.ErrMovedAway, at, p.Changelog, m.GetMovedTo())
		case m.GetMove() == changelogpb.Move_MOVE_INCOMPLETE:
			incomplete++
		}
	}
	if used == "" {
		stateless = 0 // the application may begin with an empty state
	}
	switch {
	case stateless == partitions:
		return fmt.Errorf("%w: changelog %s has no state, and %s has records", processors.ErrNotMoved, p.Changelog, used)
	case stateless > 0 || incomplete > 0:
		return fmt.Errorf("%w: of the %d partitions of %s, %d have a part of their state and %d have none", processors.ErrPartlyMoved,
			partitions, p.Changelog, incomplete, stateless)
	}
	return nil
}

// lastMarker returns the last committed marker of a changelog partition in [start, end), nil if it
// has none. The marker ends a transaction, so it is usually among the last records; aborted
// transactions may follow.
func (s *scanner) lastMarker(ctx context.Context, p int32, start, end int64) (last *changelogpb.Marker, err error) {
	for back := int64(100); ; back *= 10 {
		from := max(start, end-back)
		var bad error
		err := s.read(ctx, p, from, end, func(r *kgo.Record) {
			m, err := changelogpb.DecodeMarker(r.Key, r.Value)
			if bad = errors.Join(bad, err); m != nil {
				last = m
			}
		})
		if err = errors.Join(err, bad); err != nil || last != nil || from == start {
			return last, err
		}
	}
}
