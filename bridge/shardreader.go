package bridge

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	pageRecords = 1000      // the most records of one response
	pageBytes   = 900 << 10 // a response of more is full: DynamoDB's limit is 1 MB
	quiet       = time.Minute
)

// shardReader reads one shard from its position to its end.
type shardReader struct {
	*Bridge
	stream   *streamReader
	at       shard  // with what was read, not only what was handed over
	iterator string // "" if another one is needed
	fresh    bool   // nothing was read since the position was loaded
	emptyMs  int64  // since when responses are empty, Unix ms; 0: they are not
}

// shardEnd is how the reading of a shard ended.
type shardEnd struct {
	id   string
	gone bool // the shard does not exist; otherwise it was read to its end
}

// run reads until the end of the shard. It returns false if ctx ends before.
func (r *shardReader) run(ctx context.Context) (e shardEnd, ok bool) {
	e.id, r.fresh = r.at.ID, true
	wait, calm := backoff{least: r.cfg.PollMin, most: 20 * r.cfg.PollMin}, backoff{least: r.cfg.PollMin, most: r.cfg.PollMax}
	operation := "read " + r.at.ID
	defer r.health.setProblem(operation, nil)
	for ctx.Err() == nil {
		page, err := r.step(ctx, operation)
		switch kind := errorKind(err); {
		case err == nil && page == lastPage:
			r.health.finished(r.at.ID)
			return e, true
		case err == nil:
			wait.reset()
		case ctx.Err() != nil:
			return e, false
		case kind == expired:
			r.iterator = "" // the next one begins at the position
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

// page classifies a response.
type page int

const (
	noPage    page = iota
	fullPage       // more records are likely to follow
	partPage       // not full: the shard has no more records now
	emptyPage      // no records
	lastPage       // the end of the shard
)

// step requests records once and hands them over. A slot bounds the responses in memory, over all
// shards.
func (r *shardReader) step(ctx context.Context, operation string) (page, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return noPage, ctx.Err()
	}
	if r.iterator == "" {
		if err := r.open(ctx, operation); err != nil {
			return noPage, err
		}
	}
	began := time.Now()
	var out *dynamodbstreams.GetRecordsOutput
	err := r.request(ctx, operation, func(ctx context.Context) (err error) {
		out, err = r.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &r.iterator, Limit: aws.Int32(pageRecords)},
			noRetry)
		return err
	})
	if err != nil {
		return noPage, err
	}
	return r.deliver(ctx, out, began.UnixMilli())
}

// open requests an iterator: after the position, or at the oldest record. It never begins at the
// newest record, because a shard that is found late already has records.
func (r *shardReader) open(ctx context.Context, operation string) error {
	in := &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &r.stream.arn, ShardId: &r.at.ID, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	}
	if r.at.After != "" {
		in.ShardIteratorType, in.SequenceNumber = streamtypes.ShardIteratorTypeAfterSequenceNumber, &r.at.After
	}
	return r.request(ctx, operation, func(ctx context.Context) error {
		out, err := r.streams.GetShardIterator(ctx, in, noRetry)
		if err == nil {
			r.iterator = aws.ToString(out.ShardIterator)
		}
		return err
	})
}

// deliver hands a response over and classifies it.
func (r *shardReader) deliver(ctx context.Context, out *dynamodbstreams.GetRecordsOutput, nowMs int64) (page, error) {
	d := &batch{}
	if r.fresh && r.at.After == "" && nowMs-r.at.FoundMs > (retention-time.Hour).Milliseconds() {
		// The shard has been known for a day, and none of its records was read: the oldest ones may
		// be past their retention, and no response reports it.
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
		r.tables.shards.Put(d, shardKey(r.stream.arn, r.at.ID), r.at)
	}
	if !d.Empty() {
		if err := r.push(ctx, d); err != nil {
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

// record decodes one record into d and returns its size in bytes.
func (r *shardReader) record(d *batch, rec *streamtypes.Record, nowMs int64) (size int64) {
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

// endOfEmptyShard reports whether an empty shard that has no end is at its end. A stream that is
// disabled may leave such shards.
func (r *shardReader) endOfEmptyShard(nowMs int64) bool {
	if !r.stream.disabled.Load() {
		r.emptyMs = 0
		return false
	}
	if r.emptyMs == 0 {
		r.emptyMs = nowMs
	}
	return nowMs-r.emptyMs > quiet.Milliseconds()
}

// trimmed continues at the oldest record that the stream still has.
func (r *shardReader) trimmed(ctx context.Context) error {
	d, nowMs := &batch{}, time.Now().UnixMilli()
	r.recordGap(d, r.at.ID+" after "+r.at.After+" is past the stream's retention", nowMs)
	r.at.After, r.at.AfterMs, r.iterator, r.fresh = "", 0, "", false
	r.tables.shards.Put(d, shardKey(r.stream.arn, r.at.ID), r.at)
	return r.push(ctx, d)
}
