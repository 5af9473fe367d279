package bridge

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// writeHeartbeats writes the region's heartbeat row until ctx ends. From the row, every region
// measures the lag of the replication from this region, and reads which settings this region has.
func (b *Bridge) writeHeartbeats(ctx context.Context) {
	row := table.PrimaryKey(lease.HeartbeatRow(b.region))
	for {
		in := &dynamodb.UpdateItemInput{
			TableName: &b.cfg.Table, Key: row, UpdateExpression: aws.String("SET #heartbeat = :now, #writer = :region"),
			ExpressionAttributeNames:  map[string]string{"#heartbeat": table.HeartbeatMs, "#writer": table.WriterRegion},
			ExpressionAttributeValues: table.Item{":now": table.N(time.Now().UnixMilli()), ":region": table.S(b.region)},
		}
		if heard := b.settingsTime(ctx); heard != nil {
			*in.UpdateExpression += ", #seen = :seen"
			in.ExpressionAttributeNames["#seen"], in.ExpressionAttributeValues[":seen"] = table.SettingsSeenMs, heard
		}
		// An error is in the status of the region, and the next heartbeat follows soon.
		_ = b.request(ctx, "write the heartbeat", func(ctx context.Context) error {
			_, err := b.db.UpdateItem(ctx, in, noRetryDB)
			return err
		})
		if !pause.For(ctx, b.cfg.HeartbeatInterval) {
			return
		}
	}
}

// settingsTime returns the time of the settings that have been replicated to the region, nil if it
// is unknown.
func (b *Bridge) settingsTime(ctx context.Context) (at types.AttributeValue) {
	in := &dynamodb.GetItemInput{TableName: &b.cfg.Table, Key: table.PrimaryKey(lease.RegionRow(b.region)), ConsistentRead: aws.Bool(true)}
	_ = b.request(ctx, "read the region's settings", func(ctx context.Context) error {
		out, err := b.db.GetItem(ctx, in, noRetryDB)
		if err == nil {
			at = out.Item[table.UpdatedMs]
		}
		return err
	})
	return at
}
