package invariant

import "fmt"

// Position is the position of a record.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
}

func (p Position) String() string { return fmt.Sprintf("%s[%d]@%d", p.Topic, p.Partition, p.Offset) }

// Input is a committed input record. Amount is the amount that it adds to the sum of Key.
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

// Marker is the last changelog record of a task in one transaction. Next is the next offset of each
// input topic.
type Marker struct {
	Sequence, Epoch uint64
	Next            map[string]int64
}

// Store is the content of a task's store at the end of the run. ChangelogNext is the next offset of
// the changelog, Next that of each input topic.
type Store struct {
	State         map[string]string
	ChangelogNext int64
	Next          map[string]int64
}

// Sample is one observation of a running task: first the store's next input offset, then the offset
// that the group had committed.
type Sample struct {
	Partition int32
	Topic     string
	Stored    int64
	Committed int64
}

// History is the record of one run. Stores and Committed are by partition; Committed holds the next
// offset of each input topic.
type History struct {
	Inputs      []Input
	Outputs     []Output
	DeadLetters []Position // positions of the rejected inputs
	Changelog   []Change   // in offset order per partition
	Stores      map[int32]Store
	Committed   map[int32]map[string]int64
	Samples     []Sample
}
