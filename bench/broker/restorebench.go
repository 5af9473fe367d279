package broker

import (
	"context"
	"errors"
	"fmt"
)

// RestoreBench measures the restore of state to an empty disk.
type RestoreBench struct {
	Keys    int64
	Rounds  int
	Profile string
}

// Rows measures how fast a store is restored from its changelog.
func (b *RestoreBench) Rows(ctx context.Context, e *Env) ([]Figure, error) {
	e.Notef("changelog of %d keys", b.Keys)
	topic, err := LoadChangelog(ctx, e.Kafka, b.Keys)
	if err != nil {
		return nil, err
	}
	var rates []float64
	for i := range b.Rounds {
		stop, err := startProfile(b.Profile)
		if err != nil {
			return nil, err
		}
		r, err := Restore(ctx, e.config(), topic, b.Keys)
		if err = errors.Join(err, stop()); err != nil {
			return nil, err
		}
		e.Notef("round %d: %.2f s, %.2f M keys/s", i+1, r.Took.Seconds(), r.PerSec/1e6)
		rates = append(rates, r.PerSec)
	}
	f := newFigure(fmt.Sprintf("restore of %d keys from an empty disk", b.Keys), "keys/s", rates)
	f.Goal = ">= 500,000"
	return []Figure{f}, nil
}
