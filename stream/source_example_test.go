package stream_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// remoteLog is another system: a log of numbered partitions, which are read by offset.
type remoteLog struct {
	mu         sync.Mutex
	partitions [][]string
	grown      chan struct{} // closed when a record arrives
}

func newRemoteLog(partitions int) *remoteLog {
	return &remoteLog{partitions: make([][]string, partitions), grown: make(chan struct{})}
}

func (l *remoteLog) append(partition int, values ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partitions[partition] = append(l.partitions[partition], values...)
	close(l.grown)
	l.grown = make(chan struct{})
}

// read returns up to limit records from offset on. It waits until there is one, or ctx ends.
func (l *remoteLog) read(ctx context.Context, partition, offset uint64, limit int) ([]string, error) {
	for {
		l.mu.Lock()
		rest, grown := l.partitions[partition][offset:], l.grown
		l.mu.Unlock()
		if len(rest) > 0 {
			return rest[:min(len(rest), limit)], nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// mirror is a Source that copies the partitions of a remoteLog to the partitions of an output.
type mirror struct {
	log       *remoteLog
	positions *state.Table[uint64, uint64] // by remote partition: the next offset
	next      map[uint64]uint64            // the positions with which the source was opened
}

// mirrorSource returns the open function of a mirror.
func mirrorSource(log *remoteLog) func(stream.Task) (stream.Source, error) {
	positions := state.NewTable(1, state.Uint64{}, state.Uint64{})
	return func(t stream.Task) (stream.Source, error) {
		m := &mirror{log: log, positions: positions, next: map[uint64]uint64{}}
		err := positions.Scan(t.Range, func(partition, next uint64) error {
			m.next[partition] = next
			return nil
		})
		return m, err
	}
}

// Read implements stream.Source: one goroutine reads each remote partition.
func (m *mirror) Read(ctx context.Context, q *stream.SourceQueue) error {
	var readers sync.WaitGroup
	for partition := range uint64(len(m.log.partitions)) {
		readers.Go(func() { m.readPartition(ctx, q, partition) })
	}
	readers.Wait()
	return ctx.Err()
}

// readPartition pushes the records of a remote partition. Each batch holds the position after its
// records. Push blocks while Kafka is slower than the remote log.
func (m *mirror) readPartition(ctx context.Context, q *stream.SourceQueue, partition uint64) {
	for next := m.next[partition]; ; {
		values, err := m.log.read(ctx, partition, next, 3)
		if err != nil {
			return // ctx has ended
		}
		b := &stream.SourceBatch{}
		for _, v := range values {
			b.EmitTo("copies", int32(partition), stream.Message{Value: []byte(v)})
		}
		next += uint64(len(values))
		m.positions.Put(b, partition, next)
		if q.Push(ctx, b) != nil {
			return
		}
	}
}

// A source copies another log. Its positions are in the same transactions as the records that it
// emits, so a second handler continues where the last transaction of the first one ended.
func ExampleFromSource() {
	log := newRemoteLog(2)
	log.append(0, "a0", "a1", "a2", "a3")
	log.append(1, "b0", "b1")

	p := stream.Processor{
		App: "mirror", Inputs: []string{"mirror.control"}, Outputs: stream.OutputTopics("copies"),
		New: stream.FromSource(0, mirrorSource(log)),
	}
	kafka := newCommitted(p) // the part of the runtime

	first := kafka.open()
	for kafka.count() < 6 {
		kafka.commit(first)
		runtime.Gosched()
	}
	first.Close()

	log.append(0, "a4")
	second := kafka.open()
	for kafka.count() < 7 {
		kafka.commit(second)
		runtime.Gosched()
	}
	second.Close()

	fmt.Println(kafka.outputs[0])
	fmt.Println(kafka.outputs[1])
	// Output:
	// [a0 a1 a2 a3 a4]
	// [b0 b1]
}
