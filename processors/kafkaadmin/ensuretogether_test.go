package kafkaadmin

import (
	"context"
	"encoding/binary"
	"net"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/kafka"
)

// startingProcess runs EnsureTopics and halts before each request that creates a topic.
type startingProcess struct {
	kill    context.CancelFunc
	halted  chan struct{}
	proceed chan struct{}
	ended   chan error
	err     error
	done    bool
}

// startProcess starts a process and runs it up to its first halt.
func startProcess(t *testing.T, k kafka.Cluster, partitions int32) *startingProcess {
	ctx, kill := context.WithCancel(t.Context())
	p := &startingProcess{kill: kill, halted: make(chan struct{}), proceed: make(chan struct{}), ended: make(chan error, 1)}
	k.Options = append(slices.Clip(k.Options), kgo.Dialer(func(_ context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return haltingConn{conn, ctx, p}, err
	}))
	go func() {
		_, err := EnsureTopics(ctx, k, chain(0), TopicOptions{Partitions: partitions})
		p.ended <- err
	}()
	p.await()
	return p
}

// await waits until the process halts or ends.
func (p *startingProcess) await() {
	select {
	case <-p.halted:
	case p.err = <-p.ended:
		p.done = true
	}
}

// run lets the process send n requests.
func (p *startingProcess) run(n int) {
	for ; n > 0 && !p.done; n-- {
		p.proceed <- struct{}{}
		p.await()
	}
}

// haltingConn is a connection to a broker that halts its process.
type haltingConn struct {
	net.Conn
	ctx context.Context //nolint:containedctx // the life of the process
	p   *startingProcess
}

// Write implements net.Conn. A request begins with its size and its key.
func (c haltingConn) Write(b []byte) (int, error) {
	if len(b) < 6 || binary.BigEndian.Uint16(b[4:]) != uint16(kmsg.CreateTopics) {
		return c.Conn.Write(b)
	}
	select {
	case c.p.halted <- struct{}{}:
	case <-c.ctx.Done():
		return 0, c.ctx.Err()
	}
	select {
	case <-c.p.proceed:
		return c.Conn.Write(b)
	case <-c.ctx.Done():
		return 0, c.ctx.Err()
	}
}

// TestProcessesStartTogether: two processes with different numbers of partitions create their
// topics in turns, and the first one may end in between. The topics of each processor have equal
// numbers.
func TestProcessesStartTogether(t *testing.T) {
	const all = 20 // more requests than a process sends
	for first := range 9 {
		for second := range 10 {
			for _, killed := range []bool{false, true} {
				_, k := fake(t, kfake.NumBrokers(1))
				a, b := startProcess(t, k, 2), startProcess(t, k, 3)
				a.run(first)
				b.run(second)
				if killed {
					a.kill()
				} else {
					a.run(all)
				}
				b.run(all)
				if !b.done || b.err != nil || !killed && (!a.done || a.err != nil) {
					t.Fatalf("after %d and %d requests: %v, %v", first, second, a.err, b.err)
				}
				checkEqualNumbers(t, k, first, second)
			}
		}
	}
}

func checkEqualNumbers(t *testing.T, k kafka.Cluster, first, second int) {
	t.Helper()
	have, err := kadm.NewClient(client(t, k)).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, topics := range [][]string{{"lines", "split.changelog", "split.dlq"}, {"words", "count.changelog", "count.dlq"}} {
		for _, topic := range topics {
			if n, want := len(have[topic].Partitions), len(have[topics[0]].Partitions); n != want || n == 0 {
				t.Errorf("after %d and %d requests: %s has %d partitions, and %s has %d", first, second, topic, n, topics[0], want)
			}
		}
	}
}
