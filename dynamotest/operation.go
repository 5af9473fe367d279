package dynamotest

import (
	"strings"
	"time"

	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// operation is the implementation of one operation. An operation on items has item and params; the
// others have plain and read the body themselves.
type operation struct {
	params wire.Params
	item   func(c *call, q *wire.Request) ([]byte, error)
	plain  func(c *call) ([]byte, error)
}

// call is one request in progress.
type call struct {
	cloud     *Cloud
	region    *Region
	operation string
	body      []byte
	streams   bool // it is an operation of DynamoDB Streams
	batch     bool // it is a batch: Throttle applies to its parts

	// Effects of the drawn faults on the answer: the connection is closed, the answer is a server
	// error, the answer is delayed.
	lost   bool
	failed bool
	delay  int64 // nanoseconds
}

// operations returns the operations of DynamoDB by name.
func operations() map[string]operation {
	return map[string]operation{
		"CreateTable":   {plain: (*call).createTable},
		"DescribeTable": {plain: (*call).describeTable},
		"ListTables":    {plain: (*call).listTables},
		"UpdateTable":   {plain: (*call).updateTable},
		"DeleteTable":   {plain: (*call).deleteTable},
		"GetItem": {item: (*call).getItem, params: wire.ParamsOf("TableName", "Key", "ConsistentRead", "ProjectionExpression",
			"ExpressionAttributeNames", "ReturnConsumedCapacity")},
		"PutItem": {item: (*call).putItem, params: wire.ParamsOf("TableName", "Item", "ConditionExpression", "ExpressionAttributeNames",
			"ExpressionAttributeValues", "ReturnValues", "ReturnValuesOnConditionCheckFailure", "ReturnConsumedCapacity",
			"ReturnItemCollectionMetrics")},
		"DeleteItem": {
			item: (*call).deleteItem,
			params: wire.ParamsOf("TableName", "Key", "ConditionExpression", "ExpressionAttributeNames",
				"ExpressionAttributeValues", "ReturnValues", "ReturnValuesOnConditionCheckFailure", "ReturnConsumedCapacity",
				"ReturnItemCollectionMetrics"),
		},
		"UpdateItem": {
			item: (*call).updateItem,
			params: wire.ParamsOf("TableName", "Key", "UpdateExpression", "ConditionExpression", "ExpressionAttributeNames",
				"ExpressionAttributeValues", "ReturnValues", "ReturnValuesOnConditionCheckFailure", "ReturnConsumedCapacity",
				"ReturnItemCollectionMetrics"),
		},
		"Query": {
			item: (*call).query,
			params: wire.ParamsOf("TableName", "IndexName", "KeyConditionExpression", "FilterExpression", "ProjectionExpression",
				"ExpressionAttributeNames", "ExpressionAttributeValues", "ExclusiveStartKey", "Limit", "ScanIndexForward", "Select",
				"ConsistentRead", "ReturnConsumedCapacity"),
		},
		"Scan": {item: (*call).scan, params: wire.ParamsOf("TableName", "IndexName", "FilterExpression", "ProjectionExpression",
			"ExpressionAttributeNames", "ExpressionAttributeValues", "ExclusiveStartKey", "Limit", "Segment", "TotalSegments", "Select",
			"ConsistentRead", "ReturnConsumedCapacity")},
		"BatchGetItem": {
			item: (*call).batchGetItem, params: wire.ParamsOf("ReturnConsumedCapacity").With("RequestItems", wire.GetItems),
		},
		"BatchWriteItem": {
			item:   (*call).batchWriteItem,
			params: wire.ParamsOf("ReturnConsumedCapacity", "ReturnItemCollectionMetrics").With("RequestItems", wire.WriteItems),
		},
		"BatchExecuteStatement": {
			item: (*call).batchExecuteStatement, params: wire.ParamsOf("ReturnConsumedCapacity").With("Statements", wire.Statements),
		},
	}
}

// streamOperations returns the operations of DynamoDB Streams by name.
func streamOperations() map[string]operation {
	return map[string]operation{
		"ListStreams":      {plain: (*call).listStreams},
		"DescribeStream":   {plain: (*call).describeStream},
		"GetShardIterator": {plain: (*call).getShardIterator},
		"GetRecords":       {plain: (*call).getRecords},
	}
}

// run carries out the operation and returns the body of the answer.
func (c *call) run(op operation) ([]byte, error) {
	if op.plain != nil {
		return op.plain(c)
	}
	q, err := wire.Read(c.operation, op.params, c.body)
	if err != nil {
		return nil, err
	}
	return op.item(c, q)
}

// decodeTableName reads a request whose only parameter is a table's name.
func (c *call) decodeTableName() (string, error) {
	var q struct{ TableName string }
	if err := c.decode(&q); err != nil {
		return "", err
	}
	return tableName(wire.Text{Value: q.TableName, Given: q.TableName != ""})
}

// tableName returns the table's name in the parameter, which is a name or an ARN.
func tableName(t wire.Text) (string, error) {
	if !t.Given {
		return "", missing("tableName")
	}
	name := nameIn(t.Value)
	if len(name) > maxTableName {
		return "", checkLength(name)
	}
	var c constraints
	c.longEnough(len(name), 1, name, "tableName")
	c.name(name, "tableName")
	return name, c.err()
}

// nameIn returns the name in a name or an ARN.
func nameIn(text string) string {
	if strings.HasPrefix(text, "arn:") {
		return text[strings.LastIndexByte(text, '/')+1:]
	}
	return text
}

// validName reports whether name has only characters that names of tables and indexes may have.
func validName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '.' {
			return false
		}
	}
	return true
}

// table returns the table with that name, or an error if it does not exist or is being created. The
// caller holds the mutex.
func (c *call) table(name string) (*liveTable, error) {
	t := c.region.tables[name]
	if t == nil || t.def.Ready > c.cloud.now {
		return nil, &wire.Error{Code: wire.ResourceNotFound, Message: "Requested resource not found"}
	}
	return t, nil
}

// seconds returns a time in seconds since 1970, as DynamoDB's JSON has it. ns is in nanoseconds.
func seconds(ns int64) float64 { return float64(ns/int64(time.Millisecond)) / 1000 }
