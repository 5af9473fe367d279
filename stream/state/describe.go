package state

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/stream"
)

// Info describes a table of Named for Processor.Tables, see Describe.
func (t *Table[K, V]) Info() stream.TableInfo {
	info := t.Describe(t.name)
	info.Named = true
	return info
}

// Describe describes the table for Processor.Tables under a name: commands and the API show its
// rows by its codecs. A struct that encoding/json shows as {} needs exported fields.
func (t *Table[K, V]) Describe(name string) stream.TableInfo {
	info := stream.TableInfo{Number: t.number, Name: name, Key: ToJSON(t.keys), Value: ToJSON(t.values)}
	if _, text := any(t.keys).(String); text {
		info.Key = nil // it is shown as text, in the form in which commands take keys
	}
	return info
}

// ToJSON returns a function that shows bytes of codec as JSON on one line, nil for Bytes. Messages
// have the names of their fields, also those with the zero value.
func ToJSON[T any](codec Codec[T]) func([]byte) ([]byte, error) {
	if _, raw := any(codec).(Bytes); raw {
		return nil
	}
	return func(b []byte) ([]byte, error) {
		v, err := codec.Decode(b)
		if err != nil {
			return nil, err
		}
		m, ok := any(v).(proto.Message)
		if !ok {
			return json.Marshal(v)
		}
		text, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer // protojson inserts spaces at random, so that no program relies on its bytes
		err = json.Compact(&out, text)
		return out.Bytes(), err
	}
}
