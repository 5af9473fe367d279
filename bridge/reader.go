package bridge

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	pageRecords = 1000      // what one answer has at most
	pageBytes   = 900 << 10 // an answer of more is taken for full: 1 MB is the most
	quiet       = time.Minute
)

// reader reads one shard, from where it was handed over to its end.
type reader struct {
	*Bridge
	stream   *streamReader
	at       shard
	iterator string
	fresh    bool // nothing was read yet of what the state says
	emptyMs  int64
}

// shardEnd is what became of a shard's reader.
type shardEnd struct {
	id   string
	gone bool // there is no such shard; else it was read to its end
}

// run reads until the end of the shard. ok is false if ctx ended before.
func (r *reader) run(ctx context.Context) (e shardEnd, ok bool) {
	e.id, r.fresh = r.at.ID, true
	wait, calm := backoff{least: r.cfg.PollMin, most: 20 * r.cfg.PollMin}, backoff{least: r.cfg.PollMin, most: r.cfg.PollMax}
	who := "read " + r.at.ID
	defer r.health.setProblem(who, nil) // or it would stay for ever
	for ctx.Err() == nil {
		page, err := r.step(ctx, who)
		switch kind := errorKind(err); {
		case err == nil && page == lastPage:
			r.health.finished(r.at.ID)
			return e, true
		case err == nil:
			wait.reset()
		case ctx.Err() != nil:
			return e, false
		case kind == expired:
			r.iterator = "" // the next one begins after what was handed over
			if !wait.wait(ctx) {
				return e, false
			}
			continue
		case kind == trimmed:
			if r.trimmed(ctx) != nil || !wait.wait(ctx) {
				return e, false
			}
			continue
		case kind == missing:
			e.gone = true
			return e, true
		default:
			if r.health.failed(r.at.ID); !wait.wait(ctx) {
				return e, false
			}
			continue
		}
		if page != emptyPage {
			calm.reset()
		}
		if page != fullPage && !calm.wait(ctx) {
			return e, false
		}
	}
	return e, false
}

// page is what an answer was.
type page int

const (
	noPage page = iota
	fullPage
	partPage
	emptyPage
	lastPage
)

// step asks once for records and hands them over. The slot bounds how many answers there are in memory, of all shards.
func (r *reader) step(ctx context.Context, who string) (page, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return noPage, ctx.Err()
	}
	if r.iterator == "" {
		if err := r.open(ctx, who); err != nil {
			return noPage, err
		}
	}
	began := time.Now()
	var out *dynamodbstreams.GetRecordsOutput
	err := r.ask(ctx, who, func(ctx context.Context) (err error) {
		out, err = r.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &r.iterator, Limit: aws.Int32(pageRecords)}, noRetry)
		return err
	})
	if err != nil {
		return noPage, err
	}
	return r.deliver(ctx, out, began.UnixMilli())
}

// open gets an iterator: after what was handed over, or at the oldest record. Never at the newest: a shard that is found late
// has records already.
func (r *reader) open(ctx context.Context, who string) error {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &r.stream.arn, ShardId: &r.at.ID, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon}
	if r.at.After != "" {
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, &r.at.After
	}
	return r.ask(ctx, who, func(ctx context.Context) error {
		out, err := r.streams.GetShardIterator(ctx, in, noRetry)
		if err == nil {
			r.iterator = aws.ToString(out.ShardIterator)
		}
		return err
	})
}

// deliver hands an answer over, and says what it was.
func (r *reader) deliver(ctx context.Context, out *dynamodbstreams.GetRecordsOutput, nowMs int64) (page, error) {
	d := &batch{}
	if r.fresh && r.at.After == "" && nowMs-r.at.FoundMs > (retention-time.Hour).Milliseconds() {
		// Known for a day, and not one record of it was handed over: its oldest ones may be gone, and nobody would say so.
		r.recordGap(d, r.at.ID+" was not read for a day", nowMs)
	}
	r.fresh = false
	size := int64(0)
	for i := range out.Records {
		size += r.record(d, &out.Records[i], nowMs)
	}
	what := fullPage
	switch n := len(out.Records); {
	case out.NextShardIterator == nil || n == 0 && r.endOfEmptyShard(nowMs):
		what, r.at.FinishedMs = lastPage, nowMs
	case n == 0:
		what = emptyPage
	case n < pageRecords && size < pageBytes:
		what = partPage
	}
	if what != emptyPage {
		r.emptyMs = 0
		d.put(shardEntry(r.stream.arn, r.at))
	}
	if len(d.entries)+len(d.outputs) > 0 {
		if err := r.queue.push(ctx, d); err != nil {
			return noPage, err
		}
	}
	r.iterator = aws.ToString(out.NextShardIterator)
	if what == fullPage {
		r.health.read(r.at.ID, false, r.at.AfterMs)
	} else {
		r.health.read(r.at.ID, true, nowMs)
	}
	return what, nil
}

// record decodes one record into d, and gives its size.
func (r *reader) record(d *batch, rec *streamtypes.Record, nowMs int64) (size int64) {
	at := streamPos{shard: r.at.ID, ms: nowMs}
	if c := rec.Dynamodb; c != nil {
		size, at.sequence = aws.ToInt64(c.SizeBytes), aws.ToString(c.SequenceNumber)
		if c.ApproximateCreationDateTime != nil {
			at.ms = c.ApproximateCreationDateTime.UnixMilli()
		}
	}
	r.countRecord(r.decoder.record(d, at, rec, nowMs))
	if at.sequence != "" {
		r.at.After, r.at.AfterMs = at.sequence, at.ms
	}
	return size
}

// endOfEmptyShard says whether an empty shard without an end is at its end: a stream that is disabled may leave such.
func (r *reader) endOfEmptyShard(nowMs int64) bool {
	if !r.stream.disabled.Load() {
		r.emptyMs = 0
		return false
	}
	if r.emptyMs == 0 {
		r.emptyMs = nowMs
	}
	return nowMs-r.emptyMs > quiet.Milliseconds()
}

// trimmed goes on at the oldest record that there is.
func (r *reader) trimmed(ctx context.Context) error {
	d, nowMs := &batch{}, time.Now().UnixMilli()
	r.recordGap(d, r.at.ID+" after "+r.at.After+" is not kept any more", nowMs)
	r.at.After, r.at.AfterMs, r.iterator, r.fresh = "", 0, "", false
	d.put(shardEntry(r.stream.arn, r.at))
	return r.queue.push(ctx, d)
}
