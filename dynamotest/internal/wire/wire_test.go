package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// TestWhichErrorComesFirst: an error in the JSON's shape precedes errors in values, wherever the
// two are, and the first error in a value precedes the second.
func TestWhichErrorComesFirst(t *testing.T) {
	params := ParamsOf("TableName", "Item", "Limit", "ConsistentRead", "ExpressionAttributeNames")
	for body, want := range map[string]string{
		`{"TableName":"t"`:                                "SerializationException: byte",
		`[]`:                                              "SerializationException: START_ARRAY cannot be converted to Map",
		`{"TableName":1}`:                                 "SerializationException: NUMBER_VALUE cannot be converted to String",
		`{"Limit":"1"}`:                                   "SerializationException: STRING_VALUE cannot be converted to Integer",
		`{"Limit":1.5}`:                                   "SerializationException: DECIMAL_VALUE cannot be converted to Integer",
		`{"ConsistentRead":{}}`:                           "SerializationException: START_OBJECT cannot be converted to Boolean",
		`{"Nope":{"a":[1,{}]},"TableName":"t"}`:           "ValidationException: dynamotest does not support the parameter Nope of X",
		`{"Nope":1,"TableName":2}`:                        "SerializationException: NUMBER_VALUE cannot be converted to String",
		`{"Item":{"a":{"N":"x"}},"Limit":true}`:           "SerializationException: TRUE_VALUE cannot be converted to Integer",
		`{"Item":{"a":{"N":"x"}},"Nope":1}`:               "ValidationException: The parameter cannot be converted to a numeric value: x",
		`{"Item":{"a":{"S":"x"}}} x`:                      "SerializationException: byte",
		`{"TableName":"t","Nope":null,"Item":null}`:       "",
		`{"ExpressionAttributeNames":{"#a":"b"}}`:         "",
		`{"ExpressionAttributeNames":{"#a":["b"]},"X":1}`: "SerializationException: START_ARRAY cannot be converted to String",
	} {
		_, err := Read("X", params, []byte(body))
		switch {
		case want == "" && err != nil, want != "" && err == nil:
			t.Errorf("%s: %v", body, err)
		case err != nil && !strings.HasPrefix(err.Error(), want):
			t.Errorf("%s: %v, wanted %s", body, err, want)
		}
	}
}

// TestStatements: an error in a statement's JSON concerns the request, an error in a parameter's
// value the statement alone.
func TestStatements(t *testing.T) {
	params := ParamsOf().With("Statements", Statements)
	q, err := Read("BatchExecuteStatement", params, []byte(`{"Statements":[
		{"Statement":"a","Parameters":[{"S":"x"},{"N":"1"}]},
		{"Parameters":[{"S":"y"},{"L":[{"N":"2"}]},{"SS":["b","a"]}],"Statement":"a"},
		{"Statement":"b","Parameters":[{"N":"x"},{"S":"z"}],"ReturnValuesOnConditionCheckFailure":"NONE"},
		{"Statement":"b","Parameters":[]},{"Statement":"c","Parameters":null}]}`))
	if err != nil || len(q.Statements) != 5 {
		t.Fatal(q, err)
	}
	var got []string
	for _, s := range q.Statements {
		got = append(got, fmt.Sprint(s.Text.Value, s.Params, s.HasParams, s.Err != nil))
	}
	want := []string{`a[{"S":"x"} {"N":"1"}] true false`, `a[{"S":"y"} {"L":[{"N":"2"}]} {"SS":["a","b"]}] true false`, `b[] true true`, `b[] true false`, `c[] false false`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for body, want := range map[string]string{
		`{"Statements":{}}`:                                                "SerializationException: START_OBJECT cannot be converted to List",
		`{"Statements":[1]}`:                                               "SerializationException: NUMBER_VALUE cannot be converted to Map",
		`{"Statements":[{"Statement":[]}]}`:                                "SerializationException: START_ARRAY cannot be converted to String",
		`{"Statements":[{"Parameters":{}}]}`:                               "SerializationException: START_OBJECT cannot be converted to List",
		`{"Statements":[{"Parameters":[{"N":"x"}]},{"Parameters":["x"]}]}`: "SerializationException: ",
		`{"Statements":[{"Parameters":[{"S":"x"}`:                          "SerializationException: byte",
		`{"Statements":[{"Nope":1}]}`:                                      "ValidationException: dynamotest does not support the parameter Nope of BatchExecuteStatement",
	} {
		if _, err := Read("BatchExecuteStatement", params, []byte(body)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, wanted %s", body, err, want)
		}
	}
}

// TestStatementCode: the codes of statements are those that the SDK knows.
func TestStatementCode(t *testing.T) {
	known := types.BatchStatementErrorCodeEnum("").Values()
	for _, code := range []string{Validation, ResourceNotFound, Throughput, Throttling, InternalServer, DuplicateItem, ConditionalCheck} {
		if got := (&Error{Code: code}).StatementCode(); !slices.Contains(known, types.BatchStatementErrorCodeEnum(got)) {
			t.Errorf("%s became %s", code, got)
		}
	}
}

func TestErrorJSON(t *testing.T) {
	it := item.Of(item.Attr{Name: "a", Value: item.Str("b")})
	for _, x := range []struct {
		err    *Error
		want   string
		status int
	}{
		{Invalid(`a "b"`), `{"__type":"com.amazon.coral.validate#ValidationException","message":"a \"b\""}`, 400},
		{&Error{ConditionalCheck, "m", it}, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m","Item":{"a":{"S":"b"}}}`, 400},
		{&Error{Code: Throttling}, `{"__type":"com.amazon.coral.availability#ThrottlingException","message":""}`, 400},
		{From(errors.New("x")), `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"x"}`, 500},
		{From(item.Invalid("x")), `{"__type":"com.amazon.coral.validate#ValidationException","message":"x"}`, 400},
	} {
		if got := string(x.err.AppendJSON(nil)); got != x.want || x.err.Status() != x.status {
			t.Errorf("%s\nwanted %s", got, x.want)
		}
	}
}
