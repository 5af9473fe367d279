package logreader

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// answer is what the brokers report.
type answer struct {
	at   time.Time // when they were asked
	logs map[string]kafka.TopicLog
	ends map[id]epochEnd // of partitions that are not read yet, and have a leader epoch
	skip map[id]emptied  // of partitions whose next batches have no records
}

// emptied are offsets of a partition whose batches compaction has emptied. A client passes them
// without reporting it.
type emptied struct{ from, to int64 }

// epochEnd is where the log of a partition has its first record of a later leader epoch.
type epochEnd struct {
	asked, epoch int32 // epoch is the last one up to asked of which the log has records; -1: not known
	end          int64
	err          error
}

const (
	askTimeout = 10 * time.Second
	// emptiedTimeout bounds the questions for emptied batches: the answers of the brokers wait for
	// them.
	emptiedTimeout = 2 * time.Second
)

// keepAsking asks each interval, and soon after a partition was opened, until ctx ends. A newer
// answer replaces one that was not taken.
func (r *Reader) keepAsking(ctx context.Context, cl *kgo.Client, answers chan answer) {
	adm, last := kadm.NewClient(cl), map[id]int64{}
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
		a.skip = r.findEmptied(ctx, cl, a.logs, last)
		select {
		case <-answers:
		default:
		}
		answers <- a
	}
}

// findEmptied looks for emptied batches in partitions that are not at their end and have not moved
// since the question before, when they were at last.
func (r *Reader) findEmptied(ctx context.Context, cl *kgo.Client, logs map[string]kafka.TopicLog, last map[id]int64) map[id]emptied {
	found, stuck := map[id]emptied{}, map[id]int64{}
	r.mu.Lock()
	maps.DeleteFunc(last, func(at id, _ int64) bool { return r.parts[at] == nil })
	for at, p := range r.parts {
		before, seen := last[at]
		last[at] = p.at.Next
		log := logs[at.topic].Partitions[at.n]
		if seen && p.active && !p.failing && len(p.queue) == 0 && before == p.at.Next && log.Err == nil && p.at.Next < log.End {
			stuck[at] = before
		}
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, emptiedTimeout)
	defer cancel()
	for at, next := range stuck {
		to := kafka.SkipEmpty(ctx, cl, logs[at.topic], kafka.Position{Topic: at.topic, Partition: at.n, Offset: next})
		if to > next {
			found[at] = emptied{next, to}
		}
	}
	return found
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
	return answer{at: at, logs: logs, ends: r.askEpochs(ctx, adm)}, nil
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
