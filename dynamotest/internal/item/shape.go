package item

import (
	"bytes"

	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

// DynamoDB's texts for JSON of the wrong shape. Each of the functions below skips the value and
// returns the error.

const (
	typeOfValue = "com.amazonaws.dynamodb.v20120810.AttributeValue"
	structure   = "Start of structure or map found where not expected"
)

func wrongShape(s *jsonscan.Scanner, message string) error {
	s.Skip()
	if s.Err() != nil {
		return s.Err()
	}
	return &Error{Serialization, message}
}

// structShape is the error where an attribute value is required.
func structShape(s *jsonscan.Scanner) error {
	if s.Peek() == '[' {
		return wrongShape(s, "Unrecognized collection type class "+typeOfValue)
	}
	return wrongShape(s, "Unexpected value type in payload")
}

// mapShape is the error where an object of attributes is required.
func mapShape(s *jsonscan.Scanner) error {
	if s.Peek() == '[' {
		return wrongShape(s, "Unrecognized collection type java.util.Map<java.lang.String, "+typeOfValue+">")
	}
	return wrongShape(s, "Unexpected field type")
}

// listShape is the error where an array is required.
func listShape(s *jsonscan.Scanner) error {
	if s.Peek() == '{' {
		return wrongShape(s, structure)
	}
	return wrongShape(s, "Unexpected field type")
}

// boolShape is the error where a boolean is required.
func boolShape(s *jsonscan.Scanner) error {
	switch s.Peek() {
	case '[':
		return wrongShape(s, "Unrecognized collection type class java.lang.Boolean")
	case '{':
		return wrongShape(s, structure)
	case '"':
		return wrongShape(s, "Unexpected token received from parser")
	default:
		return notConvertible(s, "Boolean")
	}
}

// textShape is the error where the string of an S, N or B is required.
func textShape(s *jsonscan.Scanner, kind Kind) error {
	c := s.Peek()
	switch {
	case c == '{':
		return wrongShape(s, structure)
	case c == '[' && kind == B:
		return wrongShape(s, "Unrecognized collection type class java.nio.ByteBuffer")
	case c == '[':
		return wrongShape(s, "Unrecognized collection type class java.lang.String")
	case kind == B:
		return wrongShape(s, "only base-64-encoded strings are convertible to bytes")
	default:
		return notConvertible(s, "String")
	}
}

// notConvertible is the error for a number, a boolean or null where the named type is required.
func notConvertible(s *jsonscan.Scanner, want string) error {
	is := "NULL_VALUE"
	switch s.Peek() {
	case 't':
		is = "TRUE_VALUE"
	case 'f':
		is = "FALSE_VALUE"
	case '0':
		is = "NUMBER_VALUE"
		if bytes.ContainsAny(s.Number(), ".eE") {
			is = "DECIMAL_VALUE"
		}
		if s.Err() != nil {
			return s.Err()
		}
		return &Error{Serialization, is + " cannot be converted to " + want}
	}
	return wrongShape(s, is+" cannot be converted to "+want)
}
