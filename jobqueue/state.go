package jobqueue

// ID is the number of a job in its queue. Ids ascend in the order of submission and may have gaps:
// the offset of the record that submitted the job is a good id.
type ID uint64

// State is the state of a job. The seed's five states are Pending to Canceled; a job that is
// Delayed or Blocked will be Pending.
type State uint8

// The states of a job. A state fits into 4 bits.
const (
	None     State = iota // no job has this id
	Delayed               // it waits for a time: a delayed start, or the backoff before a retry
	Blocked               // it waits for other jobs to be Done
	Pending               // an agent may start it
	Running               // an agent has it, until its lease ends
	Done                  // an agent completed it
	Failed                // an agent reported a final failure, or no attempt is left
	Canceled              // it was canceled
)

// states is the number of states.
const states = 8

// String returns the name of s in lower case.
func (s State) String() string {
	if s >= states {
		return "invalid"
	}
	return [states]string{"none", "delayed", "blocked", "pending", "running", "done", "failed", "canceled"}[s]
}

// Terminal reports whether a job in state s stays in it unless it is redone or canceled.
func (s State) Terminal() bool { return s >= Done && s < states }

// Event is an input of the state machine of a job.
type Event uint8

// The events of a job.
const (
	Submit   Event = iota // it enters the queue
	Start                 // an agent gets it
	Complete              // the agent completed it
	Retry                 // its attempt failed, another one follows
	Fail                  // its attempt failed, and it was the last
	Return                // the agent or a pause returns it, which is not charged as a try
	Cancel                // a client cancels it
	Redo                  // a client wants it once more
	Due                   // its time came, or the last job that it waits for is Done
)

// events is the number of events.
const events = 9

// String returns the name of e in lower case.
func (e Event) String() string {
	if e >= events {
		return "invalid"
	}
	return [events]string{"submit", "start", "complete", "retry", "fail", "return", "cancel", "redo", "due"}[e]
}

// verdict is what the state machine answers to an event in a state.
type verdict byte

const (
	legal   verdict = '+' // the state changes
	same    verdict = '=' // nothing changes and the request succeeds: the event has its effect already
	late    verdict = '~' // ErrStale if there was such an attempt, ErrIllegal otherwise
	illegal verdict = '-' // ErrIllegal
	unknown verdict = '?' // ErrUnknown
)

// machine has the verdicts: a row per state, a column per event.
const machine = "" +
	// Submit Start Complete Retry Fail Return Cancel Redo Due
	"+????????" + // None
	"--~~~~+-+" + // Delayed
	"--~~~~+-+" + // Blocked
	"-+~~~~+==" + // Pending
	"--+++++--" + // Running, with the attempt that runs; the others are late
	"--=~~~-+-" + // Done, with the last attempt
	"--~==~++-" + // Failed, with the last attempt
	"--~~~~=+-" //  Canceled

func verdictOf(s State, e Event) verdict { return verdict(machine[int(s)*events+int(e)]) }
