package main

import (
	"context"
	"time"

	"github.com/weirhq/weir/events"
)

// Names of the systems in the tables.
const (
	weir        = "weir"
	exactlyOnce = "mirrormaker 2, exactly once"
	atLeastOnce = "mirrormaker 2, at least once"
)

// allSystems are the values of -systems, which have no comma.
func allSystems() []string { return []string{"weir", "exactly-once", "at-least-once"} }

// system is a system that copies a log.
type system struct {
	name  string
	flag  string // in -systems
	build func(ctx context.Context) error
	// prepare creates what the copy of a log needs, at a target without copies of it. The files of
	// the copier are in dir.
	prepare func(ctx context.Context, l logName, dir string) (*setup, error)
}

// setup is a copy that can begin.
type setup struct {
	copies  string // topic of the copies
	program program
	remove  func(ctx context.Context) error // deletes what is at the target
}

// clean is remove, also after the end of the context of the run.
func (s *setup) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.remove(ctx)
}

// logName is the generation of weir's topics that a log belongs to. The names of the topics of each
// generation differ, so the comparison touches no topic of a datacentre in operation. 1000 is the
// greatest that weir accepts.
type logName int

const (
	fullLog logName = 1000 // is filled before the copies, and kept for the next run
	liveLog logName = 999  // is filled during the copies
)

func (l logName) layout() events.Layout { return events.Layout{Generation: int(l)} }

// topic is the topic of the log at the source.
func (l logName) topic() string { return l.layout().Name(events.EventsTopic) }

// all returns all systems.
func (b *bench) all() []system {
	return []system{
		{weir, "weir", b.buildWeir, b.prepareWeir},
		{exactlyOnce, "exactly-once", b.buildMaker, b.preparer(true)},
		{atLeastOnce, "at-least-once", b.buildMaker, b.preparer(false)},
	}
}
