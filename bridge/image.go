package bridge

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/weirhq/weir/stream"
)

// image is an item, from a stream or from the table. The SDK has two sets of types for attributes.
type image struct {
	stream map[string]streamtypes.AttributeValue
	table  map[string]types.AttributeValue
}

func (m image) empty() bool { return len(m.stream)+len(m.table) == 0 }

// kind is the type of an attribute.
type kind string

const (
	absent  kind = ""
	text    kind = "string"
	number  kind = "number"
	mapping kind = "map"
	other   kind = "neither string, number nor map"
)

// attribute returns the type of an attribute with its string, the digits of its number, or its map.
func (m image) attribute(name string) (kind, string, image) {
	if m.stream != nil {
		switch v := m.stream[name].(type) {
		case nil:
			return absent, "", image{}
		case *streamtypes.AttributeValueMemberS:
			return text, v.Value, image{}
		case *streamtypes.AttributeValueMemberN:
			return number, v.Value, image{}
		case *streamtypes.AttributeValueMemberM:
			return mapping, "", image{stream: v.Value}
		}
		return other, "", image{}
	}
	switch v := m.table[name].(type) {
	case nil:
		return absent, "", image{}
	case *types.AttributeValueMemberS:
		return text, v.Value, image{}
	case *types.AttributeValueMemberN:
		return number, v.Value, image{}
	case *types.AttributeValueMemberM:
		return mapping, "", image{table: v.Value}
	}
	return other, "", image{}
}

func (m image) names() (list []string) {
	for name := range m.stream {
		list = append(list, name)
	}
	for name := range m.table {
		list = append(list, name)
	}
	return list
}

// fields reads the attributes of an image and keeps the first reason to reject the record.
type fields struct {
	image
	wrong *stream.RejectError
}

func (f *fields) refuse(reason, format string, args ...any) {
	if f.wrong == nil {
		f.wrong = &stream.RejectError{Reason: reason, Detail: fmt.Sprintf(format, args...)}
	}
}

// text returns a string attribute, "" if the image does not have it.
func (f *fields) text(name string) string {
	k, s, _ := f.attribute(name)
	if k != absent && k != text {
		f.refuse(ReasonType, "the type of attribute %s is %s, not a string", name, k)
	}
	return s
}

// number returns a number attribute, 0 if the image does not have it.
func (f *fields) number(name string) int64 {
	k, s, _ := f.attribute(name)
	switch k {
	case absent:
		return 0
	case number:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			f.refuse(ReasonNumber, "attribute %s is %.60s, not a 64-bit integer", name, s)
		}
		return n
	default:
		f.refuse(ReasonType, "the type of attribute %s is %s, not a number", name, k)
		return 0
	}
}

// int32 is number for 32 bits.
func (f *fields) int32(name string) int32 {
	n := f.number(name)
	if int64(int32(n)) != n {
		f.refuse(ReasonNumber, "attribute %s is %d, not a 32-bit integer", name, n)
	}
	return int32(n)
}

// numbers returns a map attribute of numbers, nil if the image does not have it.
func (f *fields) numbers(name string) map[string]int64 {
	k, _, m := f.attribute(name)
	switch k {
	case absent:
		return nil
	case mapping:
	default:
		f.refuse(ReasonType, "the type of attribute %s is %s, not a map", name, k)
		return nil
	}
	inner := fields{image: m}
	out := map[string]int64{}
	for _, n := range m.names() {
		out[n] = inner.number(n)
	}
	if inner.wrong != nil {
		f.refuse(inner.wrong.Reason, "in %s: %s", name, inner.wrong.Detail)
	}
	return out
}

// required is text for an attribute that must not be empty.
func (f *fields) required(name string) string {
	s := f.text(name)
	if s == "" {
		f.refuse(ReasonMissing, "attribute %s is missing or empty", name)
	}
	return s
}
