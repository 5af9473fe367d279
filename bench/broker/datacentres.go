package broker

import "context"

// Datacentres measures the counter with the events of one datacentre, and with as many events of
// four: the own ones and copies, as the mirror writes them.
func (s *Suite) Datacentres(ctx context.Context, e *Env) ([]Figure, error) {
	four := s.Log
	four.datacentres = 4
	return s.folds(ctx, e, s.Log.Events/4, []foldedLog{{"1 datacentre", s.Log}, {"4 datacentres", four}})
}

// foldedLog is a log that the counter folds, and what the figure calls it.
type foldedLog struct {
	name string
	log  Log
}

// folds measures the counter with each of some logs. The first from events are not timed.
func (s *Suite) folds(ctx context.Context, e *Env, from int64, logs []foldedLog) ([]Figure, error) {
	var names []string
	for _, l := range logs {
		if err := l.log.Fill(ctx, e); err != nil {
			return nil, err
		}
		names = append(names, l.name)
	}
	return s.compare(e, names, func(i int) (float64, error) {
		log := logs[i].log
		proc, err := benchCounter(log.topic(), e.Memory, log.peers()...)
		if err != nil {
			return 0, err
		}
		r, err := Fold(ctx, e.config(), proc, from, log.Events)
		return r.PerSec, err
	})
}
