package stream

// rowState is what an openRow holds.
type rowState uint8

const (
	rowUnread  rowState = iota // the store's value was not read
	rowRead                    // value is the store's, nil if the store has none
	rowPut                     // value is new
	rowDeleted                 // the key is deleted
)

func (s rowState) changed() bool { return s >= rowPut }

// openRow is one key. It has two buffers, so that a change in a record keeps the value before it,
// for undo and for who got it from Get.
type openRow struct {
	key         string
	value       []byte
	before      []byte // value before the current record, if that is record
	state       rowState
	stateBefore rowState
	listed      bool // in openTable.order
	record      uint64
}

func (r *openRow) size() int {
	if !r.state.changed() {
		return 0
	}
	return len(r.key) + len(r.value) + 16
}
