package stream

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// EventTimeConfig says how the event time of a task advances: to the least of its inputs' latest times, minus Lateness.
type EventTimeConfig struct {
	// Of is the time of a record in Unix ms. Defaults to the record's timestamp.
	Of func(topic string, r *Record) int64
	// Grain is the step in which event time advances. Timers of a grain fire before the first record of a later one.
	// Defaults to 1 s.
	Grain time.Duration
	// Lateness is how much older than the newest record a record may be and still come before its timers. Defaults to 0.
	Lateness time.Duration
	// Idle is how long an input may be silent before the others' time goes on without it. Defaults to 5 s.
	Idle time.Duration
}

// Processor describes what runs. Its names are stable: they are the names of the group, the transactional ids and the
// directory on disk.
type Processor struct {
	App       string   // application id: consumer group, transactional ids <App>-<instance>-<worker>
	Inputs    []string // co-partitioned topics; partition p of all of them is task p
	Changelog string   // compacted topic with the same number of partitions
	// Partitions is how many the topics must have. Defaults to what the first input has. Where keys are spread by a number
	// of their own, such as events.Layout.Shards, give it: more partitions would be a silent change of what a task is.
	Partitions int32
	// Migrated says that the state began with another application's, see Rekey: the inputs alone cannot give it.
	Migrated bool
	Outputs  []string // topics that Changes.Emit may name, by index
	DLQ      string   // topic of refused records. Defaults to App + ".dlq"
	New      func(Task) (Handler, error)
	Time     EventTimeConfig // for handlers with timers
	// Canonical is what of a value the inputs alone decide. It leaves out what depends on how they were cut into transactions
	// and on who ran them: epochs, sequences, offsets as of a commit. By it a replay is compared with the live processor, and
	// what is the same by it is not promoted. Keys whose essence is nil, such as figures by the time of day, are left out of
	// both. value is not to be kept or changed. Defaults to the whole value.
	Canonical func(table byte, key, value []byte) []byte
	// Rewrite makes a value that another application wrote one of commit c: its epoch, sequence and offsets. Defaults to the
	// value as it is.
	Rewrite func(table byte, key, value []byte, c Commit) ([]byte, error)
}

var name = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,200}$`)

// ValidName reports whether s can be an application id, a topic or an instance name: 1 to 200 letters, digits, '.', '_', '-'.
func ValidName(s string) bool { return name.MatchString(s) }

// Complete sets the fields that have defaults and checks all of them. The runtime calls it.
func (p *Processor) Complete() error {
	if p.DLQ == "" {
		p.DLQ = p.App + ".dlq"
	}
	if p.Time.Of == nil {
		p.Time.Of = func(_ string, r *Record) int64 { return r.TimeMs }
	}
	p.Time.Grain = cmp.Or(p.Time.Grain, time.Second)
	p.Time.Idle = cmp.Or(p.Time.Idle, 5*time.Second)
	names := append([]string{p.App, p.Changelog, p.DLQ}, p.Inputs...)
	for _, n := range append(names, p.Outputs...) {
		if !ValidName(n) {
			return fmt.Errorf("processor %q: %q is not a legal name: use 1 to 200 letters, digits, '.', '_' or '-'", p.App, n)
		}
	}
	switch {
	case len(p.Inputs) == 0:
		return fmt.Errorf("processor %q has no input topic", p.App)
	case p.Time.Grain < time.Millisecond || p.Time.Lateness < 0 || p.Time.Idle < 0:
		return fmt.Errorf("processor %q: a grain of %s, lateness of %s, idle after %s: the grain is 1ms at least, the others are not negative", p.App, p.Time.Grain, p.Time.Lateness, p.Time.Idle)
	case p.New == nil:
		return fmt.Errorf("processor %q: New is nil: give the function that makes a task's handler", p.App)
	case slices.Contains(p.Inputs, p.Changelog) || slices.Contains(p.Outputs, p.Changelog):
		return fmt.Errorf("processor %q: changelog %q is also an input or an output", p.App, p.Changelog)
	}
	return nil
}
