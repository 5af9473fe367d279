package jobqueue

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// queue returns a queue with agent "a" and job 1 in a state. A job that ran had attempt 1.
func queueWith(t *testing.T, s State) *Queue {
	t.Helper()
	q := newQueue(t, Config{MaxAttempts: 2, Blacklist: -1})
	must(t)(q.Declare(0, "a", &Profile{}))
	must(t)(q.Declare(0, "b", &Profile{}))
	spec := &Spec{}
	if s == Blocked {
		must(t)(q.Submit(0, 0, spec))
		spec = &Spec{After: []ID{0}}
	}
	if s == None {
		return q
	}
	must(t)(q.Submit(0, 1, spec))
	if s == Blocked || s == Pending {
		return q
	}
	start(t, q, "a", 1)
	switch s {
	case Delayed:
		must(t)(q.Fail(0, "a", 1, 1))
	case Done:
		must(t)(q.Complete(0, "a", 1, 1))
	case Failed:
		must(t)(q.FailForGood(0, "a", 1, 1))
	case Canceled:
		must(t)(q.Cancel(0, 1))
	default:
	}
	return q
}

func newQueue(t testing.TB, cfg Config) *Queue {
	t.Helper()
	q, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func must(t testing.TB) func(Decision, error) Decision {
	return func(d Decision, err error) Decision {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

// start polls and requires the job.
func start(t testing.TB, q *Queue, agent string, want ID) Decision {
	t.Helper()
	ds, _, err := q.Poll(nil, 0, &Poll{Agent: agent, N: 1, Policy: Greedy})
	if err != nil || len(ds) != 1 || ds[0].ID != want {
		t.Fatalf("agent %s got %+v, %v; want job %d", agent, ds, err, want)
	}
	return ds[0]
}

// TestTransitions applies each event to each state, by the attempt that is or was running, by an
// older one and by one that never was. Here is what each cell must be: the next state, "same" or an
// error. A refusal must change nothing, and must be counted.
func TestTransitions(t *testing.T) {
	//	         submit  start   complete retry   fail    return  cancel   redo    due
	table := `
	none     pending unknown unknown  unknown unknown unknown unknown  unknown unknown
	delayed  illegal illegal stale    stale   stale   stale   canceled illegal pending
	blocked  illegal illegal illegal  illegal illegal illegal canceled illegal illegal
	pending  illegal running illegal  illegal illegal illegal canceled same    illegal
	running  illegal illegal done     delayed failed  pending canceled illegal illegal
	done     illegal illegal same     stale   stale   stale   illegal  pending illegal
	failed   illegal illegal stale    same    same    stale   canceled pending illegal
	canceled illegal illegal stale    stale   stale   stale   same     pending illegal`
	reasons := map[string]error{"unknown": ErrUnknown, "illegal": ErrIllegal, "stale": ErrStale}
	for s, row := range strings.Split(strings.TrimSpace(table), "\n") {
		cells := strings.Fields(row)
		if cells[0] != State(s).String() {
			t.Fatalf("row %d is %s", s, cells[0])
		}
		for e, want := range cells[1:] {
			event := Event(e)
			q := queueWith(t, State(s))
			before := q.Snapshot()
			err := try(q, event, "a", 1)
			got := q.State(1).String()
			if reason, refused := reasons[want]; refused || want == "same" {
				if !errors.Is(err, reason) || reason == nil && err != nil {
					t.Errorf("%s in %v: error %v, want %s", event, State(s), err, want)
				}
				if !reflect.DeepEqual(before, q.Snapshot()) {
					t.Errorf("%s in %v, which is refused, changed the state", event, State(s))
				}
			} else if err != nil || got != want {
				t.Errorf("%s in %v: %s, %v; want %s", event, State(s), got, err, want)
			}
		}
	}
}

// try makes the request for an event, or applies its decision if only the queue makes it.
func try(q *Queue, e Event, agent string, attempt uint8) (err error) {
	switch e {
	case Submit:
		if q.State(1) == None {
			_, err = q.Submit(0, 1, &Spec{})
		} else {
			err = q.Apply(&Decision{Kind: Submitted, ID: 1, Spec: &Spec{}})
		}
	case Start:
		err = q.Apply(&Decision{Kind: Started, ID: 1, Agent: agent, Attempt: q.attempt(1) + 1, Until: 1000})
	case Complete:
		_, err = q.Complete(0, agent, 1, attempt)
	case Retry:
		_, err = q.Fail(0, agent, 1, attempt)
	case Fail:
		_, err = q.FailForGood(0, agent, 1, attempt)
	case Return:
		_, err = q.Return(0, agent, 1, attempt)
	case Cancel:
		_, err = q.Cancel(0, 1)
	case Redo:
		_, err = q.Redo(0, 1)
	case Due:
		err = q.Apply(&Decision{Kind: BecameDue, ID: 1})
	}
	return err
}

// TestFencing: no event of an older attempt, of an attempt that never was or of another agent
// changes a running job.
func TestFencing(t *testing.T) {
	q := queueWith(t, Delayed)
	if _, err := q.Tick(nil, 10_000, 10); err != nil {
		t.Fatal(err)
	}
	start(t, q, "a", 1)
	before := q.Snapshot()
	for e := Complete; e <= Return; e++ {
		for _, tc := range []struct {
			agent   string
			attempt uint8
			want    error
		}{{"a", 1, ErrStale}, {"b", 2, ErrStale}, {"a", 3, ErrIllegal}, {"a", 0, ErrIllegal}} {
			err := try(q, e, tc.agent, tc.attempt)
			var detail *Error
			if !errors.Is(err, tc.want) || !errors.As(err, &detail) || detail.Current != 2 || detail.State != Running {
				t.Errorf("%s by %s, attempt %d: %v, want %v", e, tc.agent, tc.attempt, err, tc.want)
			}
		}
	}
	if !reflect.DeepEqual(before, q.Snapshot()) {
		t.Error("refused events changed the state")
	}
	if n := q.Refused()[Running][Complete]; n != 4 {
		t.Errorf("%d refused completions were counted, want 4", n)
	}
	ds, stop := q.Heartbeat(nil, 20_000, "a", []Held{{1, 1}, {1, 2}, {77, 1}})
	if len(ds) != 1 || ds[0].Attempt != 2 || ds[0].Until != 80_000 || !reflect.DeepEqual(stop, []Held{{1, 1}, {77, 1}}) {
		t.Errorf("the heartbeat renewed %+v, and stops %v", ds, stop)
	}
}

// TestApplyRefuses: decisions that the state does not permit are errors and change nothing.
func TestApplyRefuses(t *testing.T) {
	for _, d := range []Decision{
		{Kind: Started, ID: 1, Agent: "a", Attempt: 1}, // it runs
		{Kind: Started, ID: 9, Agent: "a", Attempt: 1},
		{Kind: Renewed, ID: 1, Attempt: 2},
		{Kind: Renewed, ID: 9, Attempt: 1},
		{Kind: Completed, ID: 1, Attempt: 2},
		{Kind: Submitted, ID: 2},
		{Kind: Submitted, ID: 0, Spec: &Spec{}},
		{Kind: Submitted, ID: 1 << 40, Spec: &Spec{}},
		{Kind: Submitted, ID: 2, Spec: &Spec{Priority: 16}},
		{Kind: Submitted, ID: 2, Spec: &Spec{Require: []string{""}}},
		{Kind: Submitted, ID: 2, Spec: &Spec{Prefer: make([]string, 65)}},
		{Kind: Submitted, ID: 2, Spec: &Spec{NotBefore: -1}},
		{Kind: Submitted, ID: 2, Spec: &Spec{After: []ID{2}}},
		{Kind: Submitted, ID: 2, Spec: &Spec{After: make([]ID, 101)}},
		{Kind: Submitted, ID: 2, Spec: &Spec{Key: strings.Repeat("x", 257)}},
		{Kind: Submitted, ID: 2, Spec: &Spec{Require: []string{"1", "2", "3"}}}, // more than MaxResources
		{Kind: AgentUp, Agent: "c"},
		{Kind: AgentUp, Profile: &Profile{}},
		{Kind: AgentUp, Agent: "c", Profile: &Profile{Slots: -1}},
		{Kind: AgentUp, Agent: "c", Profile: &Profile{Has: []string{"1", "2", "3"}}},
		{Kind: AgentDown, Agent: "a"}, // it has a job
		{Kind: AgentDown, Agent: "c"},
		{Kind: Evicted, ID: 65536},
		{Kind: Evicted, ID: 1},
		{Kind: kinds},
	} {
		q := queueWith(t, Running)
		q.sigs.max = 2
		before := q.Snapshot()
		if err := q.Apply(&d); err == nil {
			t.Errorf("%+v was applied", d)
		}
		if !reflect.DeepEqual(before, q.Snapshot()) {
			t.Errorf("%+v, which is refused, changed the state", d)
		}
	}
}

// TestApplyNothing: a decision that changes nothing does not change the time, so a log may have it
// or not.
func TestApplyNothing(t *testing.T) {
	q := queueWith(t, Running)
	before := q.Snapshot()
	if err := q.Apply(&Decision{At: 9_000_000}); err != nil || !reflect.DeepEqual(before, q.Snapshot()) {
		t.Errorf("Nothing changed the state: %v", err)
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{
		{Lease: -1}, {Lease: 2000 * time.Hour}, {MaxAttempts: 201}, {MaxAttempts: -1}, {Associations: -1}, {Order: 2}, {Backoff: time.Microsecond},
	} {
		if _, err := New(cfg); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
