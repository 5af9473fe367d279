package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// The JSON's shape goes before values, wherever both are wrong, and the first wrong value before the second.
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
