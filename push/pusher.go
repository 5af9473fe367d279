package push

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// pusher is the source of one partition.
type pusher struct {
	cfg       *Config
	task      stream.Task
	log       zerolog.Logger
	positions *state.Table[string, position]
	queue     *stream.SourceQueue // of Read

	// Of the goroutine of Read.
	at      position // handed over
	known   bool     // at is a position: the state has it
	read    position // behind what is in rows
	rows    rows
	health  *logreader.Record // the newest that was not handed over
	handed  time.Time         // the last batch
	emitted int64             // rows of the batch that is made
	compare *comparison       // nil: the partition is followed

	mu        sync.Mutex
	flushed   position             // behind what the last transaction has
	committed position             // the same of the last transaction that has committed
	settling  []chan struct{}      // closed when the transaction has committed
	part      *logreader.Partition // that is read; nil: none
	follows   bool                 // part is that of the dataset, to follow it
	why       string               // why the partition is compared; empty if it is followed
	problem   error                // why nothing is pushed now, if part does not know it
	pushed    int64                // rows committed, and handed over to the present transaction
}

const (
	batchBytes = 128 << 10 // of what is read at once
	// retryPause is the time until a cluster is asked again.
	retryPause = 2 * time.Second
	// stoppedPause is the same after an error that waits for an operator.
	stoppedPause = 30 * time.Second
	// reportInterval is the time between two reports of a partition.
	reportInterval = time.Second
	// copyInterval is the time between two looks at the id of the copies' topic.
	copyInterval = 10 * time.Second
)

// newPusher makes the source of a task from committed state. It makes no request.
func newPusher(cfg *Config, task stream.Task) (*pusher, error) {
	p := &pusher{
		cfg: cfg, task: task, log: cfg.Log.With().Int32("partition", task.Partition).Logger(), positions: newPositions(), rows: newRows(),
	}
	var err error
	if p.at, p.known, err = p.positions.Get(task.Get, positionKey); err != nil {
		return nil, fmt.Errorf("push: read the position of partition %d: %w", task.Partition, err)
	}
	if !p.known {
		p.at.Position = logreader.Start()
	}
	p.flushed, p.committed = p.at, p.at
	return p, nil
}

// Read implements stream.Source: it pushes until ctx ends.
func (p *pusher) Read(ctx context.Context, q *stream.SourceQueue) error {
	p.queue = q
	var working sync.WaitGroup
	defer working.Wait()
	working.Go(func() { p.work(ctx) })
	for pause.For(ctx, reportInterval) {
		p.report()
	}
	return nil
}

// work follows the dataset, and compares where its position cannot tell what the copy has.
func (p *pusher) work(ctx context.Context) {
	defer p.end()
	why := ""
	for ctx.Err() == nil {
		p.end()
		if why == "" {
			var err error
			if why, err = p.doubt(ctx); err != nil {
				p.setProblem(err)
				pause.For(ctx, retryPause)
				continue
			}
		}
		p.setProblem(nil)
		if why != "" {
			if err := p.begin(ctx, why); err != nil {
				p.setProblem(err)
				wait := retryPause
				if stops(err) {
					wait = stoppedPause
				}
				pause.For(ctx, wait)
				continue
			}
		}
		why = p.follow(ctx)
	}
}

// doubt returns why the position cannot tell what the copy has, or nothing if it can. Its error is
// that of a cluster that does not answer.
func (p *pusher) doubt(ctx context.Context) (why string, err error) {
	id, err := p.cfg.copyTopic.ask(ctx)
	switch {
	case err != nil:
		return "", err
	case !p.known:
		return "there is no position", nil
	case p.at.Copy != id:
		return "the topic of the copies was created again", nil
	case p.at.tooOld(p.cfg.TombstonesKept, time.Now()):
		return "the position is so old that tombstones behind it may be gone", nil
	}
	return "", nil
}

// stops reports whether an error waits for an operator.
func stops(err error) bool {
	return errors.As(err, new(*logreader.PartitionsError)) || kafka.Damaged(err)
}

// Committed implements stream.CommitListener.
func (p *pusher) Committed(uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.committed = p.flushed
	for _, c := range p.settling {
		close(c)
	}
	p.settling = nil
}

// Close implements stream.Closer, after Read has returned.
func (p *pusher) Close() {
	p.cfg.Registry.remove(p)
	p.cfg.Metrics.forget(p)
	p.cfg.outage.forget(p.task.Partition)
}

// setPart takes the partition that is read, and whether it is that of the dataset to follow it.
func (p *pusher) setPart(part *logreader.Partition, follows bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part, p.follows = part, follows
}

func (p *pusher) setProblem(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = err
}
