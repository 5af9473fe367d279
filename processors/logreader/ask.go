package logreader

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/kafka"
)

// answer is what the brokers report.
type answer struct {
	at   time.Time // when they were asked
	logs map[string]kafka.TopicLog
	ends map[id]epochEnd // of partitions that are not read yet, and have a leader epoch
}

// epochEnd is where the log of a partition has its first record of a later leader epoch.
type epochEnd struct {
	asked, epoch int32 // epoch is the last one up to asked of which the log has records; -1: not known
	end          int64
	err          error
}

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
	at := time.Now()
	logs, err := kafka.DescribeLogs(ctx, adm, r.topics()...)
	if err != nil {
		return answer{}, err
	}
	return answer{at, logs, r.askEpochs(ctx, adm)}, nil
}

// askEpochs asks for the ends of the leader epochs of the last records that were read of partitions
// that are to be read now: see Partition.lost.
func (r *Reader) askEpochs(ctx context.Context, adm *kadm.Client) map[id]epochEnd {
	var req kadm.OffsetForLeaderEpochRequest
	ends := map[id]epochEnd{}
	r.mu.Lock()
	for at, p := range r.parts {
		if !p.active && p.at.Next > 0 && p.at.Epoch >= 0 {
			req.Add(at.topic, at.n, p.at.Epoch)
			ends[at] = epochEnd{asked: p.at.Epoch}
		}
	}
	r.mu.Unlock()
	if len(ends) == 0 {
		return nil
	}
	list, err := adm.OffsetForLeaderEpoch(ctx, req)
	for at, e := range ends {
		o, known := list[at.topic][at.n]
		switch {
		case known:
			e.epoch, e.end, e.err = o.LeaderEpoch, o.EndOffset, o.Err
		case err != nil:
			e.err = fmt.Errorf("ask for the end of leader epoch %d: %w", e.asked, err)
		default:
			e.err = fmt.Errorf("the brokers reported no end of leader epoch %d of %s[%d]", e.asked, at.topic, at.n)
		}
		ends[at] = e
	}
	return ends
}
