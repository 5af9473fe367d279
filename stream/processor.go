package stream

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// EventTimeConfig configures the event time of a task, its watermark. Each input has reached the
// time of its newest record, minus Lateness. The watermark is the smallest of these times.
//
// The watermark never falls. A record with an older time is folded like any other; it is late only
// in that timers up to the watermark have fired. One record with a time in the far future moves the
// watermark there: where senders can be wrong, reject such records, or correct the time in Of.
type EventTimeConfig struct {
	// Of is the time of a record in Unix ms. Defaults to the record's timestamp. It cannot refuse a
	// record: return the timestamp for one that it cannot read, and reject it in the handler.
	Of func(topic string, r *Record) int64
	// Grain is the step in which event time advances. Timers of a grain fire before the first
	// record of a later one. Defaults to 1 s.
	Grain time.Duration
	// Lateness delays the timers: a timer fires when its input has a record that is later than the
	// timer by Lateness. Records out of order by less than Lateness are folded before their timers
	// fire. Defaults to 0.
	Lateness time.Duration
	// Idle is the time without records after which an input no longer holds the watermark back. It
	// has an effect only where a task has several inputs and another has records: without any
	// record event time stands still. Defaults to 5 s.
	Idle time.Duration
}

// Processor describes what runs. Its names are stable: they are the names of the consumer group, of
// the transactional ids and of the directory on disk.
type Processor struct {
	// App is the application id: the consumer group, and the transactional ids
	// <App>-<instance>-<worker>.
	App string
	// Inputs are co-partitioned topics: partition p of all of them is task p. Defaults to those of
	// On.
	Inputs []string
	// Changelog is a compacted topic with the same number of partitions. It holds the state.
	// Defaults to App + ".changelog".
	Changelog string
	// Partitions is how many partitions the topics must have. Defaults to the number that the first
	// input has. Set it where keys are spread by a number of their own, such as
	// events.Layout.Shards: more partitions would silently change what a task is.
	Partitions int32
	// Outputs are the topics that Changes.Emit may name. Defaults to none.
	Outputs []Output
	// DLQ is the dead-letter topic: it gets the rejected records. Defaults to App + ".dlq".
	DLQ string
	// On are the functions that handle decoded records and timers: one for each input, and one for
	// each kind of timers. Give On or New, not both.
	On []Callback
	// New makes the handler of a task, from committed state. The runtime calls it whenever it takes
	// over a partition, and after a transaction that did not commit. Defaults to a handler that
	// calls the functions of On.
	New func(Task) (Handler, error)
	// WarmStandbys makes standbys keep a handler beside the state: New must return a
	// StandbyHandler. Set it where New takes seconds. Defaults to false: a takeover calls New.
	WarmStandbys bool
	// Time is for handlers with timers of event time.
	Time EventTimeConfig
	// Settings are the values of settings that change the result of the handler, by name. They must
	// be the same in all processes: a process that differs from the members of its group does not
	// start. To change one, stop all processes first. Defaults to none.
	Settings map[string]string
	// Canonical returns the part of a value that the inputs alone determine. It leaves out what
	// depends on the transactions and on the owner: epochs, sequences, offsets of a commit. A
	// replay is compared with the live processor by it, and equal values are not promoted. nil
	// excludes the key from both, such as figures by the time of day. It must neither keep nor
	// change value. Defaults to the whole value.
	Canonical func(table byte, key, value []byte) []byte
	// Settled reports whether the state of a task, which get reads, is a function of the inputs. It
	// is for a handler that changes its state in several transactions after an input: it returns
	// false until the last one, which must not need further input. A replay is compared and
	// promoted only where both states are settled. Defaults to always.
	Settled func(get Get) (bool, error)
	// Tables are the tables with their names, and how keys and values are shown: state.Tables(open,
	// users). A table of state.Named must be in it. Others are optional: commands ask for them by
	// number, and show values as bytes. Numbers and names are unique.
	Tables []TableInfo
}

var name = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,200}$`)

// ValidName reports whether s can be an application id, a topic or an instance name: 1 to 200
// letters, digits, '.', '_', '-'.
func ValidName(s string) bool { return name.MatchString(s) }

// SetDefaults sets the fields that have defaults, except New. The runtime calls it.
func (p *Processor) SetDefaults() {
	if len(p.Inputs) == 0 {
		p.Inputs = inputsOf(p.On)
	}
	p.Changelog = cmp.Or(p.Changelog, p.App+".changelog")
	p.DLQ = cmp.Or(p.DLQ, p.App+".dlq")
	if p.Time.Of == nil {
		p.Time.Of = func(_ string, r *Record) int64 { return r.TimeMs }
	}
	p.Time.Grain = cmp.Or(p.Time.Grain, time.Second)
	p.Time.Idle = cmp.Or(p.Time.Idle, 5*time.Second)
	p.Outputs = slices.Clone(p.Outputs) // the caller may share it with another processor
	for i := range p.Outputs {
		p.Outputs[i].Name = cmp.Or(p.Outputs[i].Name, p.Outputs[i].Topic)
	}
}

// Complete sets the fields that have defaults and checks all of them. The runtime and
// streamtest.New call it.
func (p *Processor) Complete() error {
	p.SetDefaults()
	if err := p.completeOn(); err != nil {
		return err
	}
	if err := p.checkOutputs(); err != nil {
		return err
	}
	if err := p.checkTables(); err != nil {
		return err
	}
	for _, n := range slices.Concat([]string{p.App}, p.Inputs, p.WrittenTopics()) {
		if !ValidName(n) {
			return fmt.Errorf("processor %q: %q is not a legal name: use 1 to 200 letters, digits, '.', '_' or '-'", p.App, n)
		}
	}
	switch {
	case len(p.Inputs) == 0:
		return fmt.Errorf("processor %q has no input topic: name at least one in Inputs", p.App)
	case p.Time.Grain < time.Millisecond || p.Time.Lateness < 0 || p.Time.Idle < 0:
		return fmt.Errorf(
			"processor %q: Time has a grain of %s, a lateness of %s and an idle time of %s: the grain must be at least 1ms, the others not negative", p.App, p.Time.Grain, p.Time.Lateness, p.Time.Idle)
	case p.New == nil:
		return fmt.Errorf("processor %q: New is nil: give the function that makes a task's handler, or the functions of On", p.App)
	case slices.Contains(p.Inputs, p.Changelog) || p.writes(p.Changelog):
		return fmt.Errorf("processor %q: changelog %q is also an input or an output", p.App, p.Changelog)
	case p.DLQ == p.Changelog:
		return fmt.Errorf("processor %q: %q is both the changelog and the dead-letter topic: give each a topic of its own", p.App,
			p.Changelog)
	}
	p.nameTables()
	return nil
}

// completeOn sets New to a function that makes a handler of On, and clears On.
func (p *Processor) completeOn() error {
	if len(p.On) == 0 {
		return nil
	}
	if p.New != nil {
		return fmt.Errorf("processor %q has New and On: give one of them", p.App)
	}
	all, err := newCallbacks(p.On)
	if err != nil {
		return fmt.Errorf("processor %q: %w", p.App, err)
	}
	for _, topic := range p.Inputs {
		if all.onRecord[topic] == nil {
			return fmt.Errorf("processor %q: input %q has no function: add one with On, or remove it from Inputs", p.App, topic)
		}
	}
	for topic := range all.onRecord {
		if !slices.Contains(p.Inputs, topic) {
			return fmt.Errorf("processor %q: On has a function for topic %q, which is not in Inputs: add it, or leave Inputs empty", p.App,
				topic)
		}
	}
	p.New, p.On = all.newHandler, nil
	return nil
}

func (p *Processor) checkOutputs() error {
	for i := range p.Outputs {
		o := &p.Outputs[i]
		for j := range i {
			switch x := &p.Outputs[j]; {
			case x.Name == o.Name:
				return fmt.Errorf("processor %q: two outputs are named %q: give each output a name of its own", p.App, o.Name)
			case x.Topic == o.Topic && (x.Partitioner != nil || o.Partitioner != nil):
				return fmt.Errorf(
					"processor %q: outputs %q and %q are both topic %q, and one has a partitioner: a topic has one partitioner, so declare it as one output", p.App, x.Name, o.Name, o.Topic)
			}
		}
	}
	return nil
}

func (p *Processor) writes(topic string) bool {
	return slices.ContainsFunc(p.Outputs, func(o Output) bool { return o.Topic == topic })
}

// WrittenTopics returns the topics that a processor with its defaults writes: changelog,
// dead-letter topic and outputs, each once. The runtime calls it.
func (p *Processor) WrittenTopics() []string {
	list := []string{p.Changelog, p.DLQ}
	for i := range p.Outputs {
		if !slices.Contains(list, p.Outputs[i].Topic) {
			list = append(list, p.Outputs[i].Topic)
		}
	}
	return list
}
