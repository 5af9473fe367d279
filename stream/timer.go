package stream

// TimerTable is the table of the runtime's timers. A core's own tables are below it.
const TimerTable byte = 127

// Clock is what a timer goes by.
type Clock uint8

const (
	// EventTime is the watermark of the task's inputs. It advances in grains, so that what fires between which records
	// depends on the records alone and not on how they were fetched.
	EventTime Clock = iota
	// WallTime is the time of day. Timers fire at the end of a transaction; the time they went by is in its marker.
	WallTime
)

// Timer is one deadline. Clock, time and key are its identity: set twice it fires once.
type Timer struct {
	Clock Clock
	AtMs  int64 // Unix ms
	Key   []byte
}

// Timers is how a core sets timers, from Fold, Fire and Flush. They are committed with the core's changes and survive it. In
// the past, a timer of the time of day fires at the end of the transaction, one of event time when that next advances or no
// record comes for a second. A state with a time to live needs one timer, that looks when it fires whether
// the state was touched since, and then is set anew.
type Timers interface {
	// Set makes t fire once. Key is copied. AtMs before 1970 is taken for 1970.
	Set(t Timer)
	// Cancel forgets t. It is no error if there is none.
	Cancel(t Timer)
}
