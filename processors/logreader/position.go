package logreader

import (
	"encoding/hex"
	"fmt"
)

// TopicID is the id that the brokers gave a topic when it was created. The zero value means no id.
type TopicID [16]byte

// String is the id in hexadecimal digits.
func (t TopicID) String() string { return hex.EncodeToString(t[:]) }

// MarshalText implements encoding.TextMarshaler.
func (t TopicID) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *TopicID) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(t[:], text); err != nil || n != len(t) || len(text) != 2*len(t) {
		return fmt.Errorf("topic id %.40q: it must have %d hexadecimal digits", text, 2*len(t))
	}
	return nil
}

// Position is the place in a partition from which it is read.
type Position struct {
	Topic TopicID `json:"topic_id"` // zero: the topic that has the name now
	Next  int64   `json:"next"`     // the offset to read next; negative: the start of the log
	Epoch int32   `json:"epoch"`    // leader epoch of the record before Next; -1: not known
}

// Start is the position of a partition that was never read.
func Start() Position { return Position{Next: -1, Epoch: -1} }
