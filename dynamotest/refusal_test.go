package dynamotest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestRefusals: a feature that is not supported is rejected by name, and a violated limit with
// DynamoDB's own text.
func TestRefusals(t *testing.T) {
	c, db := open(t, Config{})
	create(t, db)
	e := target{c.regions[0].HTTPClient(), "http://ours"}
	key := object{"pk": object{"S": "a"}, "sk": object{"S": "b"}}
	with := func(base object, name string, value any) object {
		out := object{"TableName": "leases", name: value}
		for k, v := range base {
			out[k] = v
		}
		return out
	}
	item := func(name string, value any) object { return with(nil, "Item", with2(key, name, value)) }
	get, query := object{"Key": key}, object{"KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": object{":v": object{"S": "a"}}}
	long := func(n int) object { return object{"S": strings.Repeat("x", n)} }
	const fine = "INSERT INTO leases VALUE {'pk': 'a', 'sk': 'b'}"
	for _, x := range []struct {
		operation string
		params    object
		code      string
		part      string
	}{
		{"TransactWriteItems", object{}, "UnknownOperationException", "TransactWriteItems"},
		{"ExecuteStatement", object{}, "UnknownOperationException", "ExecuteStatement"},
		{"ExecuteTransaction", object{}, "UnknownOperationException", "ExecuteTransaction"},
		{"DescribeTimeToLive", object{}, "UnknownOperationException", "DescribeTimeToLive"},
		{"GetItem", with(get, "AttributesToGet", []string{"a"}), "ValidationException", "the parameter AttributesToGet of GetItem"},
		{"PutItem", with(object{"Item": key}, "Expected", object{}), "ValidationException", "the parameter Expected of PutItem"},
		{"UpdateItem", with(get, "AttributeUpdates", object{}), "ValidationException", "the parameter AttributeUpdates of UpdateItem"},
		{"Query", with(query, "KeyConditions", object{}), "ValidationException", "the parameter KeyConditions of Query"},
		{"Scan", with(nil, "ScanFilter", object{}), "ValidationException", "the parameter ScanFilter of Scan"},
		{"CreateTable", object{"TableName": "new", "LocalSecondaryIndexes": []object{}}, "ValidationException", "the parameter LocalSecondaryIndexes of CreateTable"},
		{"CreateTable", object{"TableName": "new"}, "ValidationException", "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"},
		{"CreateTable", object{"TableName": "new", "BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": object{"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}, "ValidationException", "Neither ReadCapacityUnits nor"},
		{"CreateTable", object{"TableName": "new", "BillingMode": "FREE"}, "ValidationException", "Value 'FREE' at 'billingMode'"},
		{"PutItem", object{"TableName": strings.Repeat("x", 256), "Item": key}, "ValidationException", "at most 255 characters long"},
		{"UpdateTable", object{"TableName": "leases", "SSESpecification": object{}}, "ValidationException", "the parameter SSESpecification of UpdateTable"},
		{"UpdateTable", object{"TableName": "leases"}, "ValidationException", "At least one of"},
		{"GetItem", with(object{"Key": object{"pk": object{"S": "a"}}}, "ConsistentRead", true), "ValidationException", "The provided key element does not match the schema"},
		{"GetItem", object{"TableName": "nope", "Key": key}, "ResourceNotFoundException", "Requested resource not found"},
		{"GetItem", object{"Key": key}, "ValidationException", "Value null at 'tableName'"},
		{"GetItem", object{"TableName": 5}, "SerializationException", "NUMBER_VALUE cannot be converted to String"},
		{"PutItem", item("pk", object{"S": ""}), "ValidationException", "cannot contain an empty string value. Key: pk"},
		{"PutItem", item("pk", object{"N": "1"}), "ValidationException", "Type mismatch for key pk expected: S actual: N"},
		{"PutItem", item("pool", object{"N": "1"}), "ValidationException", "Type mismatch for Index Key pool Expected: S Actual: N IndexName: free"},
		{"PutItem", item("pool", object{"S": ""}), "ValidationException", "IndexName: free, IndexKey: pool"},
		{"PutItem", item("pk", long(2049)), "ValidationException", "Size of hashkey has exceeded the maximum size limit of2048 bytes"},
		{"PutItem", item("sk", long(1025)), "ValidationException", "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"},
		{"PutItem", item("x", long(400<<10)), "ValidationException", "Item size has exceeded the maximum allowed size"},
		{"PutItem", with(nil, "Item", object{"pk": object{"S": "a"}}), "ValidationException", "Missing the key sk in the item"},
		{"UpdateItem", with(with(get, "UpdateExpression", "SET x = :v"), "ExpressionAttributeValues", object{":v": long(400 << 10)}), "ValidationException", "Item size to update has exceeded the maximum allowed size"},
		{"UpdateItem", with(with(get, "UpdateExpression", "SET pk = :v"), "ExpressionAttributeValues", object{":v": long(1)}), "ValidationException", "Cannot update attribute pk. This attribute is part of the key"},
		{"Query", with(query, "IndexName", "nope"), "ValidationException", "The table does not have the specified index: nope"},
		{"Query", with(query, "Limit", 0), "ValidationException", "at 'limit' failed to satisfy constraint"},
		{"Query", with(query, "ExclusiveStartKey", object{"pk": object{"S": "b"}, "sk": object{"S": "a"}}), "ValidationException", "The provided starting key is outside query boundaries"},
		{"Scan", with(with(nil, "IndexName", "free"), "ConsistentRead", true), "ValidationException", "Consistent reads are not supported on global secondary indexes"},
		{"Scan", with(nil, "Segment", 1), "ValidationException", "The TotalSegments parameter is required"},
		{"Scan", with(with(nil, "Segment", 3), "TotalSegments", 3), "ValidationException", "Segment: 3 is not less than TotalSegments: 3"},
		{"Scan", with(with(with(nil, "Segment", 0), "TotalSegments", 1_000_000), "ExclusiveStartKey", key), "ValidationException", "Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment"},
		{"GetItem", with(with(get, "ProjectionExpression", "a"), "ExpressionAttributeNames", object{"#b": "b"}), "ValidationException", "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"},
		{"BatchGetItem", object{"RequestItems": object{"leases": object{"Keys": []object{key, key}}}}, "ValidationException", "Provided list of item keys contains duplicates"},
		{"BatchGetItem", object{"RequestItems": object{"leases": object{"Keys": many(101)}}}, "ValidationException", "Too many items requested for the BatchGetItem call"},
		{"BatchGetItem", object{"RequestItems": object{"leases": object{"Keys": []object{key}, "AttributesToGet": []string{"a"}}}}, "ValidationException", "the parameter AttributesToGet of BatchGetItem"},
		{"BatchWriteItem", object{"RequestItems": object{"leases": writes(26)}}, "ValidationException", "Too many items requested for the BatchWriteItem call"},
		{"BatchExecuteStatement", statements("SELECT * FROM leases WHERE pk = 'a'"), "ValidationException", "does not support the PartiQL statement SELECT"},
		{"BatchExecuteStatement", statements(fine, "update leases set v = 1 where pk = 'a'"), "ValidationException", "does not support the PartiQL statement UPDATE"},
		{"BatchExecuteStatement", statements("/* x */ Delete FROM leases"), "ValidationException", "does not support the PartiQL statement DELETE"},
		{"BatchExecuteStatement", statements("EXISTS(SELECT * FROM leases)"), "ValidationException", "does not support the PartiQL statement EXISTS"},
		{"BatchExecuteStatement", statements(fine + " ON CONFLICT DO NOTHING"), "ValidationException", "does not support ON CONFLICT of the PartiQL statement INSERT"},
		{"BatchExecuteStatement", statements(), "ValidationException", "Value '[]' at 'statements'"},
		{"BatchExecuteStatement", statements(slices.Repeat([]string{fine}, 26)...), "ValidationException", "at 'statements' failed to satisfy constraint: Member must have length less than or equal to 25"},
		{"BatchExecuteStatement", statements(fine, "insert into leases value {'sk': 'b', 'pk': 'a'}"), "ValidationException", "Provided list of item keys contains duplicates"},
		{"BatchExecuteStatement", statements(fine, ""), "ValidationException", "Value '' at 'statements.2.member.statement'"},
		{"BatchExecuteStatement", statements(fine + strings.Repeat(" ", 8192)), "ValidationException", "Member must have length less than or equal to 8192"},
		{"BatchExecuteStatement", object{}, "ValidationException", "Value null at 'statements'"},
		{"BatchExecuteStatement", object{"Statements": []object{{}}}, "ValidationException", "Value null at 'statements.1.member.statement'"},
		{"BatchExecuteStatement", object{"Statements": []object{{"Statement": fine, "Parameters": []object{}}}}, "ValidationException", "Value '[]' at 'statements.1.member.parameters'"},
		{"BatchExecuteStatement", object{"Statements": []object{{"Statement": fine, "Parameters": "x"}}}, "SerializationException", "STRING_VALUE cannot be converted to List"},
		{"BatchExecuteStatement", object{"Statements": []object{{"Statement": fine, "Parameters": []object{{"S": 1}}}}}, "SerializationException", ""},
		{"BatchExecuteStatement", object{"Statements": []object{{"Statement": 1}}}, "SerializationException", "NUMBER_VALUE cannot be converted to String"},
		{"BatchExecuteStatement", object{"Statements": []object{{"Statement": fine, "ConsistentRead": true}}}, "ValidationException", "the parameter ConsistentRead of BatchExecuteStatement"},
		{"BatchExecuteStatement", object{"Statements": []object{{"Statement": fine, "ReturnValuesOnConditionCheckFailure": "ALL_NEW"}}}, "ValidationException", "Value 'ALL_NEW' at 'statements.1.member.returnValuesOnConditionCheckFailure'"},
		{"BatchWriteItem", object{}, "ValidationException", "Value null at 'requestItems'"},
	} {
		got := e.send(t, request{x.operation, x.params})
		if got.status != http.StatusBadRequest || got.code != x.code || !strings.Contains(got.message, x.part) {
			t.Errorf("%s %v:\n%d %s: %s\nwanted %s: ... %s ...", x.operation, x.params, got.status, got.code, got.message, x.code, x.part)
		}
	}
	if items := e.send(t, request{"Scan", object{"TableName": "leases"}}); items.body["Count"] != 0.0 {
		t.Errorf("a rejected request changed the table: %s", items)
	}
}

func with2(base object, name string, value any) object {
	out := object{}
	for k, v := range base {
		out[k] = v
	}
	out[name] = value
	return out
}

// statements returns the parameters of a BatchExecuteStatement.
func statements(texts ...string) object {
	list := []object{}
	for _, s := range texts {
		list = append(list, object{"Statement": s})
	}
	return object{"Statements": list}
}

func many(n int) (keys []object) {
	for i := range n {
		keys = append(keys, object{"pk": object{"S": fmt.Sprint(i)}, "sk": object{"S": "b"}})
	}
	return keys
}

func writes(n int) (out []object) {
	for _, k := range many(n) {
		out = append(out, object{"PutRequest": object{"Item": k}})
	}
	return out
}
