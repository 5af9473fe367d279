package dynamotest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/dynamotest"
)

// Replication between two regions takes a minute on a clock that the example advances. A write in
// one region is in the other after that minute.
func Example() {
	ctx := context.Background()
	clock := dynamotest.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	cloud, err := dynamotest.New(dynamotest.Config{
		Regions: []string{"eu-west-1", "us-east-1"}, Clock: clock,
		Profile: dynamotest.Profile{ReplicationLag: dynamotest.Span{Min: time.Minute, Max: time.Minute}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cloud.Close()
	here, there := cloud.Region("eu-west-1").Client(), cloud.Region("us-east-1").Client()

	table := aws.String("colours")
	_, err = here.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: table, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("name"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("name"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = here.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: table, ReplicaUpdates: []types.ReplicationGroupUpdate{
		{Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String("us-east-1")}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	red := map[string]types.AttributeValue{"name": &types.AttributeValueMemberS{Value: "red"}}
	if _, err = here.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: red}); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		out, err := there.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: red, ConsistentRead: aws.Bool(true)})
		fmt.Println(len(out.Item), err)
		clock.Advance(time.Minute)
	}
	// Output:
	// 0 <nil>
	// 1 <nil>
}
