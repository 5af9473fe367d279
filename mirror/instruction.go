package mirror

import (
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir/processors/logreader"
)

// Instruction is how an operator lets a stopped copier continue: the value, as JSON, of a record of
// Config.Control in the partition that it is for.
type Instruction struct {
	Peer  string `json:"peer"`
	Topic string `json:"topic"` // at the peer
	// From is the offset at which the copier has stopped. An instruction for another one changes
	// nothing.
	From int64 `json:"from"`
	// To is the offset at which it continues, in the topic whose id is TopicID. The records between
	// are lost to this datacentre, unless TopicID is that of a topic that was created again, or the
	// lostLog of a peer that has lost copied records. In the latter case To is not above From.
	To      int64             `json:"to"`
	TopicID logreader.TopicID `json:"topic_id"`
	Who     string            `json:"who"`
	Why     string            `json:"why"`
	AtMs    int64             `json:"at_ms"`
}

// parseInstruction reads an instruction. Its error is the detail of a rejected record.
func parseInstruction(value []byte) (i Instruction, err error) {
	if err := json.Unmarshal(value, &i); err != nil {
		return i, fmt.Errorf("not an instruction in JSON: %w", err)
	}
	switch {
	case i.Peer == "" || i.Topic == "":
		return i, fmt.Errorf("peer %q and topic %q: both must be set", i.Peer, i.Topic)
	case i.From < 0 || i.To < 0 || i.AtMs < 0:
		return i, fmt.Errorf("from %d, to %d and at_ms %d: none may be negative", i.From, i.To, i.AtMs)
	case i.TopicID == logreader.TopicID{}:
		return i, fmt.Errorf("topic_id is empty: give the id of the topic in which offset %d lies", i.To)
	}
	return i, nil
}

// apply returns the position after the instruction, and whether it is for the position.
func (i Instruction) apply(at position) (position, bool) {
	same := i.TopicID == at.Topic || i.TopicID == at.log()
	if at.Next != i.From || same && i.To <= i.From {
		return at, false
	}
	after := position{Position: logreader.Position{Topic: i.TopicID, Next: i.To, Epoch: -1}, Last: i.To - 1}
	switch {
	case same:
		after.Topic, after.Log = at.Topic, at.Log
	case i.To <= i.From && i.TopicID == lostLog(at.log(), i.From, i.To):
		after.Topic, after.Log = at.Topic, i.TopicID
	}
	return after, true
}
