package item

import (
	"bytes"

	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

// The service's texts for JSON of another shape than the protocol's. Each goes over the value and returns the error.

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

// structShape is for where an attribute value is to be.
func structShape(s *jsonscan.Scanner) error {
	if s.Peek() == '[' {
		return wrongShape(s, "Unrecognized collection type class "+typeOfValue)
	}
	return wrongShape(s, "Unexpected value type in payload")
}

// mapShape is for where an object of attributes is to be.
func mapShape(s *jsonscan.Scanner) error {
	if s.Peek() == '[' {
		return wrongShape(s, "Unrecognized collection type java.util.Map<java.lang.String, "+typeOfValue+">")
	}
	return wrongShape(s, "Unexpected field type")
}

// listShape is for where an array is to be.
func listShape(s *jsonscan.Scanner) error {
	if s.Peek() == '{' {
		return wrongShape(s, structure)
	}
	return wrongShape(s, "Unexpected field type")
}

// boolShape is for where a boolean is to be.
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

// textShape is for where the string of an S, N or B is to be.
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

// notConvertible is for a number, a boolean or null where the type named is to be.
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
