package jobqueue

// Kind is the kind of a decision.
type Kind uint8

// The kinds of decisions. The comments name the fields that are set beside Kind and At.
const (
	Nothing    Kind = iota // no change. ID: the job, of a repeated submission the first one
	Submitted              // ID, Spec
	Started                // ID, Attempt, Agent, Until: end of the lease, Learn
	Renewed                // ID, Attempt, Until: end of the lease
	Completed              // ID, Attempt
	Retried                // ID, Attempt, Until: time of the retry, Reason, Avoid
	Exhausted              // ID, Attempt, Reason: the job is Failed
	Returned               // ID, Attempt, Reason, Avoid
	CanceledBy             // ID
	Redone                 // ID
	BecameDue              // ID: a delayed job is Pending
	AgentUp                // Agent, Profile
	AgentDown              // Agent, which has no job
	Paused                 // no job starts
	Resumed                // jobs start again
	Evicted                // ID: jobs with lower ids keep only their final state
	kinds
)

// Reason is why an attempt ended without success.
type Reason uint8

// The reasons.
const (
	Reported  Reason = iota // by the agent
	Expired                 // the lease ended
	AgentLost               // the agent was declared down
	Pullback                // the queue was paused with pullback, or the start was taken back
)

// Decision is a change of a queue, as data: a record of it is all that a replay needs.
type Decision struct {
	Kind    Kind
	At      int64 // time of the decision, Unix ms
	ID      ID
	Attempt uint8
	Agent   string
	Until   int64 // Unix ms
	Reason  Reason
	Learn   bool // the agent gets associated with the preferred resources of the job
	Avoid   bool // the agent does not get the job again for a time: see Config.Blacklist
	Spec    *Spec
	Profile *Profile
}

// event returns the event of the job that the decision is about.
func (k Kind) event() (Event, bool) {
	switch k {
	case Submitted:
		return Submit, true
	case Started:
		return Start, true
	case Completed:
		return Complete, true
	case Retried:
		return Retry, true
	case Exhausted:
		return Fail, true
	case Returned:
		return Return, true
	case CanceledBy:
		return Cancel, true
	case Redone:
		return Redo, true
	case BecameDue:
		return Due, true
	default:
		return 0, false
	}
}
