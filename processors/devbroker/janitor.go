package devbroker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/stream"
)

// janitor limits the growth of the broker: it trims topics with retention and compacts the others.
type janitor struct {
	b    *Broker
	quit chan struct{}
	done chan struct{}

	mu        sync.Mutex // held by a compaction inside a request; stop waits for it
	stopped   bool
	waiting   bool             // a compaction waits for a moment without open transactions
	sizeAfter map[string]int64 // bytes of each compacted topic after its last compaction
}

// minGrowth is the growth of the compacted topics from which a compaction pays off: it reads and
// writes them whole.
const minGrowth = 1 << 20

func newJanitor(b *Broker) *janitor {
	return &janitor{b: b, quit: make(chan struct{}), done: make(chan struct{}), sizeAfter: map[string]int64{}}
}

func (t *janitor) run() {
	defer close(t.done)
	tick := time.NewTicker(t.b.cfg.Interval)
	defer tick.Stop()
	for {
		select {
		case <-t.quit:
			return
		case <-tick.C:
			t.trim()
			t.wantCompaction()
		}
	}
}

// stop ends the janitor. The cluster may be closed afterwards.
func (t *janitor) stop() {
	close(t.quit)
	<-t.done
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
}

// trim deletes the oldest records of topics with retention that are too large. Unlike Kafka it
// keeps records that a group has not read: an imported file that is written faster than it is
// folded would lose its beginning.
func (t *janitor) trim() {
	groups, err := t.groups()
	if err != nil {
		t.b.cfg.Log.Error().Err(err).Msg("trim_failed")
		return
	}
	for _, topic := range t.b.cfg.Topics {
		if topic.Cleanup != stream.CleanupDelete {
			continue
		}
		limit := t.b.cfg.TopicBytes / int64(topic.Partitions)
		for _, p := range t.b.cluster.PartitionInfos(topic.Name) {
			records := p.HighWatermark - p.LogStartOffset
			if p.NumBytes <= limit || records <= 1 {
				continue
			}
			// Batches have about the same size. The last record stays: an empty partition would
			// begin at offset 0 after a restart.
			cut := p.LogStartOffset + int64(float64(records)*float64(p.NumBytes-limit)/float64(p.NumBytes))
			cut = min(cut, p.LastStableOffset, p.HighWatermark-1)
			for _, g := range groups {
				if c, ok := g.Commits[topic.Name][p.Partition]; ok {
					cut = min(cut, c.Offset)
				}
			}
			if cut <= p.LogStartOffset {
				continue
			}
			if err := t.b.cluster.DeleteRecords(topic.Name, p.Partition, cut); err != nil {
				t.b.cfg.Log.Error().Err(err).Str("topic", topic.Name).Msg("trim_failed")
			}
		}
	}
}

// groups returns the committed offsets of all groups.
func (t *janitor) groups() ([]*kfake.GroupInfo, error) {
	cl, err := t.b.Kafka().Client()
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	names, err := kadm.NewClient(cl).ListGroups(ctx)
	if err != nil {
		return nil, err
	}
	var out []*kfake.GroupInfo
	for _, name := range names.Groups() {
		if g := t.b.cluster.GroupInfo(name); g != nil {
			out = append(out, g)
		}
	}
	return out, nil
}

// wantCompaction requests a compaction if the compacted topics have grown by half.
func (t *janitor) wantCompaction() {
	t.mu.Lock()
	defer t.mu.Unlock()
	var now, before int64
	for topic, n := range t.sizes() {
		now += n
		before += t.sizeAfter[topic]
	}
	if t.waiting || now-before < max(minGrowth, before/2) {
		return
	}
	t.waiting = true
	// kfake would drop a record in favour of a newer one whose transaction is open; if that is
	// aborted, the key is lost. The compaction therefore runs inside a request, while kfake handles
	// no other request, and only if no transaction is open.
	t.b.cluster.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		t.mu.Lock()
		defer t.mu.Unlock()
		switch {
		case t.stopped:
			t.b.cluster.DropControl()
		case t.noOpenTransaction():
			t.b.cluster.DropControl()
			t.waiting = false
			t.compact()
		}
		return nil, nil, false
	})
}

func (t *janitor) compacted() []string {
	var names []string
	for _, topic := range t.b.cfg.Topics {
		if topic.Cleanup == stream.CleanupCompact {
			names = append(names, topic.Name)
		}
	}
	return names
}

func (t *janitor) sizes() map[string]int64 {
	out := map[string]int64{}
	for _, topic := range t.compacted() {
		for _, p := range t.b.cluster.PartitionInfos(topic) {
			out[topic] += p.NumBytes
		}
	}
	return out
}

// noOpenTransaction reports whether no compacted topic has an open transaction.
func (t *janitor) noOpenTransaction() bool {
	for _, topic := range t.compacted() {
		for _, p := range t.b.cluster.PartitionInfos(topic) {
			if p.LastStableOffset != p.HighWatermark {
				return false
			}
		}
	}
	return true
}

// compact compacts the topics. With a data directory it backs their files up, because kfake removes
// the old files before it writes the new ones.
func (t *janitor) compact() {
	began := time.Now()
	backup, err := t.b.backUp(t.compacted())
	if err != nil {
		t.b.cfg.Log.Error().Err(fmt.Errorf("back up the old files: %w", err)).Msg("compaction_skipped")
		return
	}
	t.b.cluster.Compact()
	if err := backup.release(); err != nil {
		t.b.cfg.Log.Error().Err(err).Msg("compaction_leftovers")
	}
	before := t.sizeAfter
	t.sizeAfter = t.sizes()
	t.b.cfg.Log.Info().Interface("bytes", t.sizeAfter).Interface("before", before).Dur("took_ms", time.Since(began)).Msg("compacted")
}
