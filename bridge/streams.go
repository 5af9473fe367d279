package bridge

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// nextStream waits for the oldest stream that was not read to its end, and begins it if it is new.
// It returns false if ctx ends before.
func (b *Bridge) nextStream(ctx context.Context) (arn string, ok bool) {
	const operation = "list the streams"
	wait := backoff{least: b.cfg.PollMin, most: min(b.cfg.ListInterval, 5*time.Second)}
	for ; ; b.health.setStream("", 0) {
		var list []string
		err := b.request(ctx, operation, func(ctx context.Context) (err error) {
			list, err = b.listStreams(ctx)
			return err
		})
		if err == nil {
			if err := b.forgetStreams(ctx, list); err != nil {
				return "", false
			}
			for _, arn := range list {
				s, known := b.saved.streams[arn]
				if s.DoneMs > 0 {
					continue
				}
				return arn, known || b.begin(ctx, arn) == nil
			}
			b.health.setProblem(operation, errNoStream)
		}
		if !wait.wait(ctx) {
			return "", false
		}
	}
}

// listStreams returns the ARNs of the table's streams, the oldest first.
func (b *Bridge) listStreams(ctx context.Context) (arns []string, err error) {
	var list []streamtypes.Stream
	in := &dynamodbstreams.ListStreamsInput{TableName: &b.cfg.Table}
	for {
		out, err := b.streams.ListStreams(ctx, in, noRetry)
		if err != nil {
			return nil, err
		}
		list = append(list, out.Streams...)
		if in.ExclusiveStartStreamArn = out.LastEvaluatedStreamArn; in.ExclusiveStartStreamArn == nil {
			break
		}
	}
	slices.SortFunc(list, func(a, b streamtypes.Stream) int { // a label is a time
		return cmp.Or(cmp.Compare(aws.ToString(a.StreamLabel), aws.ToString(b.StreamLabel)),
			cmp.Compare(aws.ToString(a.StreamArn), aws.ToString(b.StreamArn)))
	})
	for _, s := range list {
		arns = append(arns, aws.ToString(s.StreamArn))
	}
	return arns, nil
}

// begin adds a new stream to the state. It requests a scan, because rows may be older than the
// stream.
func (b *Bridge) begin(ctx context.Context, arn string) error {
	s := streamState{BegunMs: time.Now().UnixMilli()}
	b.saved.streams[arn] = s
	b.log.Info().Str("stream", arn).Msg("stream_begun")
	d := &batch{scanRequest: scanRequest{s.BegunMs, "the stream is new"}}
	b.tables.streams.Put(d, arn, s)
	return b.push(ctx, d)
}

// forgetStreams removes streams from the state that ended long ago and are no longer listed.
func (b *Bridge) forgetStreams(ctx context.Context, listed []string) error {
	for arn, s := range b.saved.streams {
		if s.DoneMs == 0 || slices.Contains(listed, arn) || time.Now().UnixMilli()-s.DoneMs < shardMemory.Milliseconds() {
			continue
		}
		delete(b.saved.streams, arn)
		d := &batch{}
		b.tables.streams.Delete(d, arn)
		if err := b.push(ctx, d); err != nil {
			return err
		}
	}
	return nil
}
