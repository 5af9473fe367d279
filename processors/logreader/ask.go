package logreader

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/kafka"
)

// answer is what the brokers report, by topic.
type answer = map[string]kafka.TopicLog

const askTimeout = 10 * time.Second

// keepAsking asks each interval, and soon after a partition was opened, until ctx ends. A newer
// answer replaces one that was not taken.
func (r *Reader) keepAsking(ctx context.Context, adm *kadm.Client, answers chan answer) {
	tick := time.NewTicker(r.cfg.AskInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.opened:
		}
		a, err := r.ask(ctx, adm)
		if ctx.Err() != nil {
			return
		}
		r.heard(err)
		if err != nil {
			continue
		}
		select {
		case <-answers:
		default:
		}
		answers <- a
	}
}

// heard notes whether the cluster answers.
func (r *Reader) heard(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unheard = ""; err != nil {
		r.unheard = err.Error()
	}
}

// topics returns the names of the topics of the open partitions.
func (r *Reader) topics() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at := range r.parts {
		if !slices.Contains(names, at.topic) {
			names = append(names, at.topic)
		}
	}
	slices.Sort(names)
	return names
}

// ask returns the logs of the topics of the open partitions. Its error means that no broker
// answers.
func (r *Reader) ask(ctx context.Context, adm *kadm.Client) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return kafka.DescribeLogs(ctx, adm, r.topics()...)
}
