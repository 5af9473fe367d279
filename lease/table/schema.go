package table

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// AvailableIndex is the name of the index of available resources.
const AvailableIndex = "available"

// Create returns the request that creates the table in its first region. UpdateTable adds its
// replicas.
func Create(table string) *dynamodb.CreateTableInput {
	attribute := func(name string, t types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: t}
	}
	key := func(name string, t types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: t}
	}
	return &dynamodb.CreateTableInput{
		TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			attribute(PK, types.ScalarAttributeTypeS), attribute(SK, types.ScalarAttributeTypeS),
			attribute(Bucket, types.ScalarAttributeTypeS), attribute(AvailableMs, types.ScalarAttributeTypeN),
		},
		KeySchema: []types.KeySchemaElement{key(PK, types.KeyTypeHash), key(SK, types.KeyTypeRange)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(AvailableIndex),
			KeySchema: []types.KeySchemaElement{key(Bucket, types.KeyTypeHash), key(AvailableMs, types.KeyTypeRange)},
			Projection: &types.Projection{
				ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{Version, Owner},
			},
		}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
}
