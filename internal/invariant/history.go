package invariant

import "fmt"

// Position is a record's place.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
}

func (p Position) String() string { return fmt.Sprintf("%s[%d]@%d", p.Topic, p.Partition, p.Offset) }

// Input is a committed input record. Amount is what it adds to Key.
type Input struct {
	At     Position
	Key    string
	Amount int64
}

// Output is a committed output record and the input that caused it.
type Output struct {
	At, Cause Position
}

// Change is a committed changelog record: a state change, or a marker.
type Change struct {
	At     Position
	Key    string
	Value  string
	Delete bool
	Marker *Marker
}

// Marker ends a task's part of a transaction.
type Marker struct {
	Sequence, Epoch uint64
	Next            map[string]int64
}

// Store is what a task's local store holds at the end.
type Store struct {
	State         map[string]string
	ChangelogNext int64
	Next          map[string]int64
}

// Sample is one look at a running task: what the store said, then what the group had committed, in this order.
type Sample struct {
	Partition int32
	Topic     string
	Stored    int64
	Committed int64
}

// History is everything that one run left behind.
type History struct {
	Inputs      []Input
	Outputs     []Output
	DeadLetters []Position // origins of the dead letters
	Changelog   []Change   // in offset order per partition
	Stores      map[int32]Store
	Committed   map[int32]map[string]int64
	Samples     []Sample
}
