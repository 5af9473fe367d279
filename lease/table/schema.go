package table

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes.
const (
	PK                = "pk"
	SK                = "sk"
	Version           = "version"
	Expires           = "lease_expires"
	Owner             = "owner_region"
	Holder            = "key"
	Available         = "lease_available"
	State             = "state"
	Resource          = "resource"
	ResourceVersion   = "resource_version"
	Winner            = "winner"
	WriterRegion      = "writer_region"
	ClientID          = "client_id"
	PoolID            = "pool_id"
	Bucket            = "shard"
	GrantedAt         = "granted_at"
	Description       = "description"
	UpdatedMs         = "updated_ms"
	Lines             = "lines"
	Refused           = "refused"
	HeartbeatMs       = "beat_ms"
	WriteLeaseUntilMs = "lease_until_ms"
)

// AvailableIndex is the name of the index of available resources.
const AvailableIndex = "available"

// Create is the request that makes the table in one region. Its replicas are added by UpdateTable.
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
			attribute(Bucket, types.ScalarAttributeTypeS), attribute(Available, types.ScalarAttributeTypeN),
		},
		KeySchema: []types.KeySchemaElement{key(PK, types.KeyTypeHash), key(SK, types.KeyTypeRange)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(AvailableIndex),
			KeySchema: []types.KeySchemaElement{key(Bucket, types.KeyTypeHash), key(Available, types.KeyTypeRange)},
			Projection: &types.Projection{
				ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{Version, Owner},
			},
		}},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
}
