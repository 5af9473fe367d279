package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// ErrSkip reports a skip that is refused: it would lose records that can be read, or it does not
// begin where the application is.
var ErrSkip = errors.New("the skip is refused")

// ErrNotTaken reports an instruction to skip that no process has carried out yet.
var ErrNotTaken = errors.New("no process has carried out the skip yet")

// Skip is a range of offsets of an input that cannot be read and that an operator gives up.
type Skip struct {
	Topic     string
	Partition int32
	To        int64 // next offset to read
	Who, Why  string
}

// SkipPlan is what a Skip does.
type SkipPlan struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"` // the position of the application
	To        int64  `json:"to"`
	Lost      int64  `json:"lost"` // offsets in the range; records may be fewer
	Cause     string `json:"cause"`

	app    reader
	record *changelogpb.Skip
}

// PlanSkip checks a Skip. It reads the input as a process of the application does. It returns an
// error that wraps ErrSkip unless the application is at an offset that cannot be read, and s.To is
// the end of that batch, of the deleted records, or of one of those that follow.
func PlanSkip(ctx context.Context, k kafka.Cluster, app *stream.Processor, s Skip) (*SkipPlan, error) {
	p := *app
	p.SetDefaults()
	return planSkip(ctx, k, reader{p.App, p.Inputs, p.Changelog}, s)
}

// PlanSinkSkip does for a sink what PlanSkip does for a processor. It needs Group and Topic.
func PlanSinkSkip(ctx context.Context, k kafka.Cluster, sink *stream.Sink, s Skip) (*SkipPlan, error) {
	return planSkip(ctx, k, reader{sink.Group, []string{sink.Topic}, ""}, s)
}

// reader is an application that may skip.
type reader struct {
	group     string
	inputs    []string
	changelog string // empty: a sink
}

func planSkip(ctx context.Context, k kafka.Cluster, app reader, s Skip) (*SkipPlan, error) {
	if !slices.Contains(app.inputs, s.Topic) {
		return nil, fmt.Errorf("%w: %s is not an input of %s, which reads %s", ErrSkip, s.Topic, app.group, strings.Join(app.inputs, ", "))
	}
	cl, err := k.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	ends, err := logEnds(ctx, adm, []string{s.Topic})
	if err != nil {
		return nil, err
	}
	start, ok := ends.start.Lookup(s.Topic, s.Partition)
	end, _ := ends.stable.Lookup(s.Topic, s.Partition)
	if !ok {
		return nil, fmt.Errorf("%w: %s has no partition %d", ErrSkip, s.Topic, s.Partition)
	}
	from, after, err := position(ctx, adm, app, s)
	if err != nil {
		return nil, err
	}
	if from < 0 { // it never committed, and begins at the first record
		from = start.Offset
	}
	switch {
	case s.To <= from:
		return nil, fmt.Errorf("%w: %s has read %s[%d] up to offset %d, so offset %d is behind it", ErrSkip, app.group, s.Topic,
			s.Partition, from, s.To)
	case s.To > end.Offset:
		return nil, fmt.Errorf("%w: %s[%d] ends at offset %d, before offset %d", ErrSkip, s.Topic, s.Partition, end.Offset, s.To)
	}
	p := &SkipPlan{Topic: s.Topic, Partition: s.Partition, From: from, To: s.To, Lost: s.To - from, app: app}
	p.record = &changelogpb.Skip{Topic: s.Topic, From: from, To: s.To, After: after, Who: s.Who, Why: s.Why, AtMs: time.Now().UnixMilli()}
	return p, p.check(ctx, k, start.Offset)
}

// position returns the committed offset of the application, or -1 without a committed offset, and
// the transaction that committed it, which a sink does not have.
func position(ctx context.Context, adm *kadm.Client, app reader, s Skip) (at int64, after string, err error) {
	list, err := adm.FetchOffsets(kadm.RequireStable(ctx), app.group)
	if err != nil {
		return 0, "", fmt.Errorf("read the committed offsets of group %s: %w", app.group, err)
	}
	o, ok := list.Lookup(s.Topic, s.Partition)
	switch {
	case ok && o.Err != nil:
		return 0, "", fmt.Errorf("read the committed offset of group %s in %s[%d]: %w", app.group, s.Topic, s.Partition, o.Err)
	case !ok || o.At < 0:
		return -1, "", nil
	case app.changelog == "":
		return o.At, "", nil
	case !strings.HasPrefix(o.Metadata, changelogpb.CommitMetadataPrefix):
		return 0, "", fmt.Errorf(
			"%w: the offset %d of group %s in %s[%d] was set from outside, so it is not the position of the state: set it back first",
			ErrSkip, o.At, app.group, s.Topic, s.Partition)
	}
	return o.At, changelogpb.ParseNote(o.Metadata).Transaction, nil
}

// check reads the range: each step goes over one batch that cannot be read, or over the deleted
// records before start.
func (p *SkipPlan) check(ctx context.Context, k kafka.Cluster, start int64) error {
	for at := p.From; at < p.To; {
		next, cause := start, fmt.Errorf("records below offset %d are deleted", start)
		if at >= start {
			if next, cause = probe(ctx, k, kafka.Position{Topic: p.Topic, Partition: p.Partition, Offset: at}); cause == nil {
				return fmt.Errorf("%w: offset %d of %s[%d] can be read, and %s has not finished it", ErrSkip, at, p.Topic, p.Partition,
					p.app.group)
			}
			if !kafka.Skippable(cause) {
				return fmt.Errorf("read %s[%d] at offset %d: %w", p.Topic, p.Partition, at, cause)
			}
		}
		if p.Cause == "" {
			p.Cause = cause.Error()
		}
		if next > p.To {
			return fmt.Errorf("%w: offset %d of %s[%d] cannot be read: the next that may be read is %d", ErrSkip, p.To, p.Topic,
				p.Partition, next)
		}
		if next <= at { // the batch has no legible end, so the operator has to know it
			return nil
		}
		at = next
	}
	return nil
}

// probeTimeout bounds the attempt to read one offset.
const probeTimeout = 10 * time.Second

// probe reads one offset as a worker does. It returns why the offset cannot be read, and the next
// offset, if that is known.
func probe(ctx context.Context, k kafka.Cluster, at kafka.Position) (next int64, cause error) {
	cl, err := changelog.NewReader(k, at.Topic, map[int32]kgo.Offset{at.Partition: kgo.NewOffset().At(at.Offset)})
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for {
		fetches := cl.PollRecords(ctx, 1)
		if fetches.NumRecords() > 0 {
			return 0, nil
		}
		for _, e := range fetches.Errors() {
			if large := new(kgo.ErrDecompressTooLarge); errors.As(e.Err, &large) {
				return large.NextOffset, e.Err
			}
			// A second request distinguishes a damaged batch from bytes that a network changed.
			damaged := new(kafka.DamagedBatchError)
			if err := k.CheckBatch(ctx, at); errors.As(err, &damaged) {
				return damaged.Next, err
			}
			if kafka.StopsPartition(e.Err) || ctx.Err() != nil {
				return 0, e.Err
			}
		}
	}
}

// ApplySkip writes the instruction, and waits for at most limit until a process has carried it out.
// It returns ErrNotTaken after that; the next owner of the partition still carries it out, unless
// it has moved on by then.
//
// The instruction for a processor is a record of its changelog. That for a sink is an offset of
// kafka.SkipGroup: brokers let no one but the members of a group commit its offsets.
func ApplySkip(ctx context.Context, k kafka.Cluster, p *SkipPlan, limit time.Duration) error {
	cl, err := k.Connect(ctx, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.AllowIdempotentProduceCancellation())
	if err != nil {
		return fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	if p.app.changelog == "" {
		err = p.instructSink(ctx, cl)
	} else {
		err = p.instructProcessor(ctx, cl)
	}
	if err != nil {
		return err
	}
	adm := kadm.NewClient(cl)
	for end := time.Now().Add(limit); ; {
		list, err := adm.FetchOffsets(ctx, p.app.group)
		if o, ok := list.Lookup(p.Topic, p.Partition); err == nil && ok && o.Err == nil && o.At >= p.To {
			return nil
		}
		if time.Now().After(end) || !pause.For(ctx, 200*time.Millisecond) {
			return errors.Join(fmt.Errorf("%w within %s", ErrNotTaken, limit), ctx.Err())
		}
	}
}

func (p *SkipPlan) instructProcessor(ctx context.Context, cl *kgo.Client) error {
	value, err := proto.Marshal(p.record)
	if err != nil {
		return fmt.Errorf("encode the instruction: %w", err)
	}
	rec := &kgo.Record{Topic: p.app.changelog, Partition: p.Partition, Key: changelogpb.SkipKey(p.record), Value: value}
	if err := cl.ProduceSync(ctx, rec).FirstErr(); err != nil {
		return fmt.Errorf("write to %s[%d]: %w", p.app.changelog, p.Partition, err)
	}
	return nil
}

func (p *SkipPlan) instructSink(ctx context.Context, cl *kgo.Client) error {
	r := p.record
	note := kafka.EncodeSkipped([]kafka.SkippedRange{{From: r.From, To: r.To, Who: r.Who, Why: r.Why, At: time.UnixMilli(r.AtMs).UTC()}})
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: p.Topic, Partition: p.Partition, At: r.To, LeaderEpoch: -1, Metadata: note})
	if err := kadm.NewClient(cl).CommitAllOffsets(ctx, kafka.SkipGroup(p.app.group), offsets); err != nil {
		return fmt.Errorf("commit the instruction to group %s: %w", kafka.SkipGroup(p.app.group), err)
	}
	return nil
}
