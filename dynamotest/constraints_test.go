package dynamotest

import (
	"net/http"
	"strings"
	"testing"
)

// TestConstraints: the values that a rule for single values rejects are reported together, in
// DynamoDB's words, before values are compared with each other.
func TestConstraints(t *testing.T) {
	c, db := open(t, Config{})
	create(t, db)
	e := target{c.regions[0].HTTPClient(), "http://ours"}
	definition := func(name, kind string) object { return object{"AttributeName": name, "AttributeType": kind} }
	element := func(name, kind string) object { return object{"AttributeName": name, "KeyType": kind} }
	table := func(change func(object)) object {
		x := object{
			"TableName": "new", "BillingMode": "PAY_PER_REQUEST",
			"AttributeDefinitions": []object{definition("a", "S"), definition("b", "S")}, "KeySchema": []object{element("a", "HASH"), element("b", "RANGE")},
		}
		change(x)
		return x
	}
	key := object{"pk": object{"S": "a"}, "sk": object{"S": "b"}}
	const (
		at      = "' failed to satisfy constraint: Member must "
		types   = at + "satisfy enum value set: [B, N, S]"
		kinds   = at + "satisfy enum value set: [HASH, RANGE]"
		returns = at + "satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
		short   = "TableName must be at least 3 characters long and at most 255 characters long"
		fine    = "INSERT INTO leases VALUE {'pk': 'a', 'sk': 'b'}"
	)
	for _, x := range []struct {
		operation string
		params    object
		want      string
	}{
		{"CreateTable", object{}, "The parameter 'TableName' is required but was not present in the request"},
		{"CreateTable", table(func(x object) { x["TableName"] = "" }), short},
		{"CreateTable", table(func(x object) { x["TableName"] = "ab" }), short},
		{"CreateTable", table(func(x object) { x["TableName"] = strings.Repeat("x", 256) }), short},
		{"CreateTable", table(func(x object) { x["TableName"] = "a b" }), "1 validation error detected: Value 'a b' at 'tableName" + at + "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"},
		{"CreateTable", table(func(x object) { x["AttributeDefinitions"] = []object{definition("a", "S"), definition("b", "SS")} }), "1 validation error detected: Value 'SS' at 'attributeDefinitions.2.member.attributeType" + types},
		{"CreateTable", table(func(x object) { x["AttributeDefinitions"] = []object{definition("a", "BOOL"), {}} }), "3 validation errors detected: Value 'BOOL' at 'attributeDefinitions.1.member.attributeType" + types +
			"; Value null at 'attributeDefinitions.2.member.attributeName" + at + "not be null; Value null at 'attributeDefinitions.2.member.attributeType" + at + "not be null"},
		{"CreateTable", table(func(x object) {
			x["BillingMode"], x["KeySchema"], x["AttributeDefinitions"] = "FREE", []object{element("a", "HASH"), element("b", "SORT")}, []object{definition("a", "X")}
		}), "3 validation errors detected: Value 'X' at 'attributeDefinitions.1.member.attributeType" + types + "; Value 'FREE' at 'billingMode" + at + "satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]" +
			"; Value 'SORT' at 'keySchema.2.member.keyType" + kinds},
		{"CreateTable", table(func(x object) {
			x["GlobalSecondaryIndexes"] = []object{
				{"IndexName": "one", "KeySchema": []object{element("b", "HASH")}, "Projection": object{"ProjectionType": "ALL"}},
				{"IndexName": "t;", "KeySchema": []object{element("b", "FIRST")}, "Projection": object{"ProjectionType": "SOME"}},
			}
		}), "4 validation errors detected: Value 'SOME' at 'globalSecondaryIndexes.2.member.projection.projectionType" + at + "satisfy enum value set: [ALL, INCLUDE, KEYS_ONLY]" +
			"; Value 't;' at 'globalSecondaryIndexes.2.member.indexName" + at + "satisfy regular expression pattern: [a-zA-Z0-9_.-]+; Value 't;' at 'globalSecondaryIndexes.2.member.indexName" + at +
			"have length greater than or equal to 3; Value 'FIRST' at 'globalSecondaryIndexes.2.member.keySchema.1.member.keyType" + kinds},
		{"CreateTable", table(func(x object) { x["StreamSpecification"] = object{"StreamEnabled": true, "StreamViewType": "ALL"} }), "1 validation error detected: Value 'ALL' at 'streamSpecification.streamViewType" +
			at + "satisfy enum value set: [NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, KEYS_ONLY]"},
		{"CreateTable", table(func(x object) { x["KeySchema"] = []object{element("a", "HASH"), element("a", "RANGE")} }), "Both the Hash Key and the Range Key element in the KeySchema have the same name"},
		{"CreateTable", table(func(x object) { x["KeySchema"] = []object{element("a", "HASH"), element("b", "HASH")} }), "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"},
		{"CreateTable", table(func(x object) { x["KeySchema"] = []object{element("a", "RANGE"), element("b", "HASH")} }), "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"},
		{"CreateTable", table(func(x object) { x["AttributeDefinitions"] = []object{definition("a", "S")} }), "Invalid KeySchema: Some index key attribute have no definition"},
		{"CreateTable", table(func(x object) { x["KeySchema"] = []object{element("a", "HASH"), element("c", "RANGE")} }), "One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [a, c], AttributeDefinitions: [a, b]"},
		{"UpdateTable", object{
			"TableName": "leases", "AttributeDefinitions": []object{definition("x", "Y")}, "StreamSpecification": object{"StreamEnabled": true, "StreamViewType": "ALL"},
			"GlobalSecondaryIndexUpdates": []object{{"Create": object{"IndexName": "new", "KeySchema": []object{element("x", "SORT")}, "Projection": object{"ProjectionType": "ALL"}}}},
		}, "3 validation errors detected: Value 'Y' at 'attributeDefinitions.1.member.attributeType" + types + "; Value 'SORT' at 'globalSecondaryIndexUpdates.1.member.create.keySchema.1.member.keyType" + kinds +
			"; Value 'ALL' at 'streamSpecification.streamViewType" + at + "satisfy enum value set: [NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES, KEYS_ONLY]"},
		{"PutItem", object{"TableName": "leases", "Item": key, "ReturnValues": "OLD", "ReturnConsumedCapacity": "ALL"}, "2 validation errors detected: Value 'ALL' at 'returnConsumedCapacity" + at +
			"satisfy enum value set: [INDEXES, TOTAL, NONE]; Value 'OLD' at 'returnValues" + returns},
		{"UpdateItem", object{"TableName": "leases", "Key": key, "ReturnValues": "x", "ReturnConsumedCapacity": "y", "ReturnItemCollectionMetrics": "z"}, "3 validation errors detected: Value 'y' at 'returnConsumedCapacity" + at +
			"satisfy enum value set: [INDEXES, TOTAL, NONE]; Value 'x' at 'returnValues" + returns + "; Value 'z' at 'returnItemCollectionMetrics" + at + "satisfy enum value set: [SIZE, NONE]"},
		{"Scan", object{"TableName": "leases", "Select": "NOTHING", "Limit": 0}, "2 validation errors detected: Value 'NOTHING' at 'select" + at +
			"satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]; Value '0' at 'limit" + at + "have value greater than or equal to 1"},
		{"BatchGetItem", object{"RequestItems": object{}}, "1 validation error detected: Value '{}' at 'requestItems" + at + "have length greater than or equal to 1"},
		{"BatchWriteItem", object{"RequestItems": object{}}, "1 validation error detected: Value '{}' at 'requestItems" + at + "have length greater than or equal to 1"},
		{"BatchGetItem", object{"RequestItems": object{"leases": object{"Keys": []object{}}}}, "1 validation error detected: Value '[]' at 'requestItems.leases.member.keys" + at + "have length greater than or equal to 1"},
		{"BatchWriteItem", object{"RequestItems": object{"leases": []object{}}, "ReturnItemCollectionMetrics": "x"}, "2 validation errors detected: Value '[]' at 'requestItems.leases.member" + at +
			"have length greater than or equal to 1; Value 'x' at 'returnItemCollectionMetrics" + at + "satisfy enum value set: [SIZE, NONE]"},
		{"BatchExecuteStatement", object{"Statements": []object{{"Statement": fine, "ReturnValuesOnConditionCheckFailure": "NEW"}, {"Statement": ""}}}, "2 validation errors detected: Value 'NEW' at 'statements.1.member.returnValuesOnConditionCheckFailure" + at +
			"satisfy enum value set: [ALL_OLD, NONE]; Value '' at 'statements.2.member.statement" + at + "have length greater than or equal to 1"},
	} {
		got := e.send(t, request{x.operation, x.params})
		if got.status != http.StatusBadRequest || got.code != "ValidationException" || got.message != x.want {
			t.Errorf("%s %v:\n%d %s: %s\nwanted %s", x.operation, x.params, got.status, got.code, got.message, x.want)
		}
	}
	// At most ten are reported.
	got := e.send(t, request{"CreateTable", table(func(x object) { x["AttributeDefinitions"] = make([]object, 7) })})
	if !strings.HasPrefix(got.message, "10 validation errors detected: Value null at 'attributeDefinitions.1.member.attributeName'") || strings.Count(got.message, "Value null") != 10 {
		t.Errorf("for fourteen errors: %s", got.message)
	}
}
