package spendcounter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/ring"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// Counter is the spend of one task. It is not safe for concurrent use. After an error a Counter is
// unusable: New makes another one from the committed state.
type Counter struct {
	cfg    Config
	task   stream.Task
	broken error // the first error; every later call returns it

	inputs    []input  // ordered by topic
	origins   []origin // ordered by datacentre
	dcs       dcNames
	cache     cache
	closing   closing
	window    window
	rankings  rankings
	ringSpans spans // from where the ring by ingest time has to be rebuilt

	timestampMs    int64                  // greatest ingest time applied
	minutes        []*eventspb.SpendAudit // that have ended since the last Flush
	micros         int64                  // charged, of all time: the sum over origins; >= the charged micros of any campaign day
	refundedMicros int64                  // of all time; >= the refunded micros of any campaign day
	refunds        uint64
	overRefunds    uint64 // refunds above the charges of their campaign day, when they were applied
	duplicates     uint64
	conflicts      uint64  // duplicates with another price
	charged        charged // by events since New, as of the last Flush
	totals         totals
	changed        bool // the task record differs from the committed one
	unranked       bool // the table of the rankings does not fit the campaign days

	movedIDs     movedIDs
	keepAccounts bool                                  // of the ids that Rebuild finds, for a Repartitioner
	corrections  corrections                           // promoted replays that changed the state
	references   map[string]*spendpb.AppliedAdjustment // that changed since the last flush, by key
	imports      imports
	hourRanges   [2]hourRange
	health       health
	check        checker
	rows         rows
	scratch      scratch
}

// scratch is memory for reuse.
type scratch struct {
	key, value, sub []byte
	keys            [][]byte
	read            []int
	spend           eventspb.Spend
	parts           []part
	adjustment      eventspb.Adjustment
}

// input is one topic that the task reads.
type input struct {
	topic       string
	adjustments bool
	copied      bool
	origin      int    // index of its origin
	dcName      []byte // name of its origin, for events without a serving datacentre
	next        int64  // next offset to fold
	rebuild     rebuildPlan
}

// origin is one datacentre whose events are counted.
type origin struct {
	dc                  string
	watermarkMs         int64 // greatest ingest time applied
	count               uint64
	micros              int64
	lost                uint64
	transportDuplicates uint64
	rejected            uint64               // copies
	late                uint64               // events not checked for duplicates; of all time
	missedRing          uint64               // events too old for the ring; since New
	events, adjustments []applied            // positions of its copies; kept while it is not configured
	ring                ring.Ring            // by ingest time
	lastInputMs         int64                // wall time of its last batch of events; since New
	minute              *eventspb.SpendAudit // nil: nothing was folded yet
}

// New returns a counter with the committed state of t. It reads the task record, and other state
// when it is needed.
func New(cfg Config, t stream.Task) (*Counter, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	if t.MultiGet == nil {
		t.MultiGet = t.Get.Multi()
	}
	c := &Counter{
		cfg: cfg, task: t, cache: cache{epoch: 1, hours: hours{on: cfg.Hours}, pairs: pairs{max: cfg.Parts}},
		rankings:   rankings{size: cfg.ranking, list: map[uint64]*ranking{}},
		references: map[string]*spendpb.AppliedAdjustment{}, imports: imports{},
	}
	if cfg.Parts > 0 {
		c.rows.pairs = &pairColumn{}
	}
	c.addInputs()
	value, err := t.Get(TableTask, []byte(TaskKey))
	if err != nil {
		return nil, fmt.Errorf("spend counter, partition %d: read task record: %w", t.Partition, err)
	}
	state, err := ParseTask(value)
	if err != nil {
		return nil, fmt.Errorf("spend counter, partition %d: %w", t.Partition, err)
	}
	if err := c.restore(state); err != nil {
		return nil, err
	}
	if err := errors.Join(c.restoreBuckets(), c.restoreMovedIDs()); err != nil {
		return nil, err
	}
	if err := c.planRebuild(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Counter) addInputs() {
	in := c.cfg.Inputs
	c.inputs = []input{
		{topic: in.Events, dcName: []byte(c.cfg.DC)},
		{topic: in.Adjustments, dcName: []byte(c.cfg.DC), adjustments: true},
	}
	for topic, dc := range in.Copied {
		c.inputs = append(c.inputs, input{topic: topic, dcName: []byte(dc), copied: true})
	}
	for topic, dc := range in.CopiedAdjustments {
		c.inputs = append(c.inputs, input{topic: topic, dcName: []byte(dc), copied: true, adjustments: true})
	}
	slices.SortFunc(c.inputs, func(a, b input) int { return cmp.Compare(a.topic, b.topic) })
	for i := range c.inputs {
		in := &c.inputs[i]
		in.next = c.task.Next[in.topic]
		c.addOrigin(string(in.dcName))
	}
	for i := range c.inputs {
		c.inputs[i].origin = c.addOrigin(string(c.inputs[i].dcName))
	}
}

// addOrigin returns the index of the origin dc. It inserts the origin in order if it is new.
func (c *Counter) addOrigin(dc string) int {
	i, found := slices.BinarySearchFunc(c.origins, dc, func(o origin, dc string) int { return cmp.Compare(o.dc, dc) })
	if !found {
		c.origins = slices.Insert(c.origins, i, origin{dc: dc})
	}
	return i
}

func (c *Counter) input(topic string) (*input, error) {
	for i := range c.inputs {
		if c.inputs[i].topic == topic {
			return &c.inputs[i], nil
		}
	}
	return nil, fmt.Errorf("spend counter, partition %d: topic %s is not one of its inputs", c.task.Partition, topic)
}

// begin validates the topic and the partition of b and returns its input.
func (c *Counter) begin(b *stream.Batch) (*input, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	if b.Partition != c.task.Partition {
		return nil, c.fail(fmt.Errorf("spend counter, partition %d: the batch is of partition %d", c.task.Partition, b.Partition))
	}
	in, err := c.input(b.Topic)
	if err != nil {
		return nil, c.fail(err)
	}
	return in, nil
}

// fail makes c unusable.
func (c *Counter) fail(err error) error {
	if c.broken == nil {
		c.broken = err
	}
	return c.broken
}
