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

// writeHeartbeats writes the region's row of beats until ctx ends, so that every region can tell how far replication from here lags, and of
// which settings the region has heard.
func (b *Bridge) writeHeartbeats(ctx context.Context) {
	row := table.PrimaryKey(lease.HeartbeatRow(b.region))
	for {
		in := &dynamodb.UpdateItemInput{
			TableName: &b.cfg.Table, Key: row, UpdateExpression: aws.String("SET #beat = :now, #writer = :region"),
			ExpressionAttributeNames:  map[string]string{"#beat": table.HeartbeatMs, "#writer": table.WriterRegion},
			ExpressionAttributeValues: table.Item{":now": table.N(time.Now().UnixMilli()), ":region": table.S(b.region)},
		}
		if heard := b.settingsTime(ctx); heard != nil {
			*in.UpdateExpression += ", #heard = :heard"
			in.ExpressionAttributeNames["#heard"], in.ExpressionAttributeValues[":heard"] = table.SettingsSeenMs, heard
		}
		// One that fails is told of, and the next one comes soon enough.
		_ = b.ask(ctx, "write the beat", func(ctx context.Context) error {
			_, err := b.db.UpdateItem(ctx, in, noRetryDB)
			return err
		})
		if !pause.For(ctx, b.cfg.HeartbeatInterval) {
			return
		}
	}
}

// settingsTime is the time of the region's settings as the region has them; nil if that is not known now.
func (b *Bridge) settingsTime(ctx context.Context) (at types.AttributeValue) {
	in := &dynamodb.GetItemInput{TableName: &b.cfg.Table, Key: table.PrimaryKey(lease.RegionRow(b.region)), ConsistentRead: aws.Bool(true)}
	_ = b.ask(ctx, "read the region's settings", func(ctx context.Context) error {
		out, err := b.db.GetItem(ctx, in, noRetryDB)
		if err == nil {
			at = out.Item[table.UpdatedMs]
		}
		return err
	})
	return at
}
