//go:build synctests

package leaseloop_test

import (
	"context"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/executor"
	"github.com/weirhq/weir/processors/processorstest"
)

// node is a process like `weir run` with the loop's roles: a runtime for each core and the bridge,
// and the executors of all regions.
type node struct {
	l         *loop
	name      string
	parts     []*processorstest.Process // by loop.apps
	executors *executors
}

// start starts a node.
func (l *loop) start(name string) *node {
	l.t.Helper()
	n := &node{l: l, name: name}
	for _, w := range l.apps {
		n.parts = append(n.parts, w.Start(name))
	}
	n.executors = l.executors(name)
	l.nodes[name] = n
	return n
}

// kill kills the whole node.
func (n *node) kill() {
	n.l.kills++
	for _, p := range n.parts {
		p.Kill()
	}
	n.executors.end(true)
}

// restart starts the killed parts of a node under its name.
func (n *node) restart() {
	for i, w := range n.l.apps {
		if n.parts[i].Ended() {
			n.parts[i] = w.Start(n.name)
		}
	}
	if n.executors.ended() {
		n.executors = n.l.executors(n.name)
	}
}

// executors are the running executors of a node.
type executors struct {
	cut, cancel func()
	done        chan struct{}
}

func (l *loop) executors(name string) *executors {
	kafka, cut := l.balancers().Link()
	list, err := executor.RegionsConfig{
		Config:     executor.Config{Regions: loopRegions(), Partitions: l.setup.partitions, Kafka: kafka, Instance: name},
		Connection: l.conn, Table: loopTable, Skew: loopSkew,
	}.New()
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &executors{cut: cut, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		if err := executor.RunAll(ctx, list); err != nil {
			l.t.Error(err)
		}
	}()
	return e
}

// end stops the executors, by a crash or gracefully.
func (e *executors) end(crash bool) {
	if crash {
		e.cut()
	}
	e.cancel()
	<-e.done
}

func (e *executors) ended() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// commandTopics returns the command topics of all regions.
func commandTopics() (list []string) {
	for _, r := range loopRegions() {
		list = append(list, events.LeaseCommandsTopic(r))
	}
	return list
}
