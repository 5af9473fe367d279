package admin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// HistoryEvent is one change of a key row or a resource row.
type HistoryEvent struct {
	Time        time.Time `json:"time"` // in whole seconds
	Region      string    `json:"region"`
	Row         string    `json:"row"` // "key", or the resource
	Version     int64     `json:"version"`
	Description string    `json:"what"`
}

// History returns the changes of a key, or of a resource if one is named, oldest first. It reads
// the DynamoDB streams of all regions, which keep 24 hours; the last seconds may be missing. It
// reads the streams completely, which takes time if there were many writes.
func (a *Admin) History(ctx context.Context, client, pool, key, resource string) ([]HistoryEvent, error) {
	wanted := func(pk, sk string) bool { return pk == lease.KeyPartition(client, pool, key) }
	err := lease.CheckLease(client, pool, key)
	if resource != "" {
		err = lease.CheckName("resource", resource, lease.MaxKey)
		row := lease.ResourceRow(client, resource)
		wanted = func(pk, sk string) bool { return pk == row.Partition && sk == row.Sort }
	}
	if err != nil {
		return nil, invalid(err)
	}
	var all []HistoryEvent
	for _, region := range a.regions {
		events, err := a.events(ctx, region, wanted)
		if err != nil {
			return nil, fmt.Errorf("read the stream: %w", err)
		}
		all = append(all, events...)
	}
	slices.SortStableFunc(all, func(x, y HistoryEvent) int { return x.Time.Compare(y.Time) })
	return all, nil
}

// events returns the changes that were written through a region.
func (a *Admin) events(ctx context.Context, region string, wanted func(pk, sk string) bool) ([]HistoryEvent, error) {
	in := &dynamodb.DescribeTableInput{TableName: &a.table.Name}
	out, err := a.table.Client(region).DescribeTable(ctx, in, a.table.Options)
	if err != nil {
		return nil, a.table.ClassifyError(region, err)
	}
	if out.Table.LatestStreamArn == nil {
		return nil, fmt.Errorf("%w: the table has no DynamoDB stream in %s", table.ErrTable, region)
	}
	shards, err := a.shards(ctx, region, *out.Table.LatestStreamArn)
	if err != nil {
		return nil, err
	}
	found := make([][]HistoryEvent, len(shards))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, shard := range shards {
		g.Go(func() error {
			return a.shard(gctx, region, *out.Table.LatestStreamArn, &shard, func(r *types.Record) {
				if e, ok := event(region, r, wanted); ok {
					found[i] = append(found[i], e)
				}
			})
		})
	}
	err = g.Wait()
	events := slices.Concat(found...)
	slices.SortStableFunc(events, func(x, y HistoryEvent) int { return int(x.Version - y.Version) })
	return events, err
}

func (a *Admin) shards(ctx context.Context, region, arn string) ([]types.Shard, error) {
	streams := a.streams(region)
	var shards []types.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}
	for {
		out, err := streams.DescribeStream(ctx, in)
		if err != nil {
			return nil, a.table.ClassifyError(region, err)
		}
		shards = append(shards, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return shards, nil
		}
	}
}

// maxEmptyReads is the number of empty answers after which an open shard counts as read. DynamoDB
// also returns empty answers before further records.
const maxEmptyReads = 20

// shard reads a shard from its oldest record to its end, or to the last record of an open shard.
func (a *Admin) shard(ctx context.Context, region, arn string, shard *types.Shard, yield func(*types.Record)) error {
	streams := a.streams(region)
	closed := shard.SequenceNumberRange != nil && shard.SequenceNumberRange.EndingSequenceNumber != nil
	begin, err := streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		return a.table.ClassifyError(region, err)
	}
	for at, empty := begin.ShardIterator, 0; at != nil && (closed || empty < maxEmptyReads); {
		out, err := streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: at})
		if err != nil {
			return a.table.ClassifyError(region, err)
		}
		for i := range out.Records {
			yield(&out.Records[i])
		}
		if empty++; len(out.Records) > 0 {
			empty = 0
		}
		at = out.NextShardIterator
	}
	return nil
}

// event returns the description of a stream record, if its row is wanted and it was written through
// the region.
func event(region string, r *types.Record, wanted func(pk, sk string) bool) (HistoryEvent, bool) {
	d := r.Dynamodb
	pk, sk := text(d.Keys, table.PK), text(d.Keys, table.SK)
	if !wanted(pk, sk) || text(d.NewImage, table.WriterRegion) != region {
		return HistoryEvent{}, false
	}
	e := HistoryEvent{Region: region, Row: sk}
	if d.ApproximateCreationDateTime != nil {
		e.Time = d.ApproximateCreationDateTime.UTC()
	}
	was, _ := table.Row(toItem(d.OldImage))
	is, err := table.Row(toItem(d.NewImage))
	if e.Version = is.Version; err != nil {
		e.Description = "invalid row: " + err.Error()
		return e, true
	}
	if is.State != "" {
		e.Row = "key"
		e.Description = keyEvent(&is)
	} else {
		e.Description = resourceEvent(&was, &is)
	}
	return e, true
}

func keyEvent(is *lease.Row) string {
	until := time.UnixMilli(is.Expires).UTC().Format(time.RFC3339)
	switch is.State {
	case lease.Pending:
		return fmt.Sprintf("wants %s until %s", is.Resource, until)
	case lease.Leased:
		return fmt.Sprintf("has %s until %s", is.Resource, until)
	case lease.Released:
		return "released " + is.Resource
	default:
		return fmt.Sprintf("its lease of %s was superseded by that of %s", is.Resource, is.Winner)
	}
}

func resourceEvent(was, is *lease.Row) string {
	until := time.UnixMilli(is.Expires).UTC().Format(time.RFC3339)
	from := time.UnixMilli(is.Available).UTC().Format(time.RFC3339)
	pool, key, _ := lease.ParseHolder(is.Holder)
	switch {
	case is.Holder != "" && was.Holder == is.Holder:
		return fmt.Sprintf("renewed until %s", until)
	case is.Holder != "":
		return fmt.Sprintf("leased to key %s of pool %s until %s", key, pool, until)
	case is.Available == 0:
		return "retired"
	case was.Version == 0:
		return "registered"
	case was.Holder != "":
		return "released, available from " + from
	case was.Owner != is.Owner:
		return "moved from " + was.Owner + " to " + is.Owner + ", available from " + from
	default:
		return "available from " + from
	}
}

func text(item map[string]types.AttributeValue, name string) string {
	if s, ok := item[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// toItem returns the strings and numbers of a stream image as an item.
func toItem(image map[string]types.AttributeValue) table.Item {
	item := table.Item{}
	for name, v := range image {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			item[name] = table.S(v.Value)
		case *types.AttributeValueMemberN:
			item[name] = table.Decimal(v.Value)
		}
	}
	return item
}
