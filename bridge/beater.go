package bridge

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
)

// beats writes the region's row of beats until ctx ends, so that every region can tell how far replication from here lags.
func (b *Bridge) beats(ctx context.Context) {
	row := leasetable.PrimaryKey(lease.BeatRow(b.region))
	for {
		in := &dynamodb.UpdateItemInput{
			TableName: &b.cfg.Table, Key: row, UpdateExpression: aws.String("SET #beat = :now, #writer = :region"),
			ExpressionAttributeNames:  map[string]string{"#beat": leasetable.BeatMs, "#writer": leasetable.WriterRegion},
			ExpressionAttributeValues: leasetable.Item{":now": leasetable.N(time.Now().UnixMilli()), ":region": leasetable.S(b.region)},
		}
		// One that fails is told of, and the next one comes soon enough.
		_ = b.ask(ctx, "write the beat", func(ctx context.Context) error {
			_, err := b.db.UpdateItem(ctx, in, onceDB)
			return err
		})
		if !pause(ctx, b.cfg.Heartbeat) {
			return
		}
	}
}
