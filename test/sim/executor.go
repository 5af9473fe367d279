package sim

import (
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/command"
)

// executor is a model of package executor. Package lease/command determines writes and outcomes.
// The commands of each row run in order, one request each, repeated until there is an answer. A
// result is written before its offset is committed.
type executor struct {
	w          *simulation
	r          *region
	name       string
	rng        *rand.Rand
	off        int64
	terms      command.Config
	life       int
	writeLease writeLease

	next, committed int
	done            map[int]bool
	rows            map[lease.PrimaryKey][]*job
}

// job is a fetched command.
type job struct {
	offset int
	c      *eventspb.LeaseCommand
	tries  int
}

const executorTimeout = 1000

func (w *simulation) newExecutor(i int) *executor {
	e := &executor{w: w, r: w.regions[i], name: "executor " + regionNames[i], rng: w.newRand("executor" + regionNames[i])}
	e.off = w.off(e.rng)
	e.terms = command.Config{
		Region: e.r.name, Regions: regionNames[:w.s.Regions], Rules: w.rules, Skew: w.s.Skew, TransferWait: 4*w.s.Skew + executorTimeout,
		DrawBucket: e.rng.IntN,
	}
	if w.mutation == "transfer has no wait" {
		e.terms.TransferWait = 1
	}
	e.done, e.rows = map[int]bool{}, map[lease.PrimaryKey][]*job{}
	w.each(e.rng, 30, 100, e.poll)
	w.each(e.rng, 400, 200, e.commit)
	return e
}

// crash discards everything but the committed offset. Requests in progress continue.
func (e *executor) crash() {
	e.w.h.mark("executor crashed at work")
	e.w.transcribe(e.name, "crashes")
	e.life++
	e.off = e.w.off(e.rng)
	e.next, e.done, e.rows = e.committed, map[int]bool{}, map[lease.PrimaryKey][]*job{}
}

func (e *executor) isCutOff() bool { return e.w.faults.cut(e.r.id) }

// poll fetches commands and starts those whose row has no other command in progress.
func (e *executor) poll() {
	if e.isCutOff() {
		return
	}
	list := e.w.topics.commands[e.r.id]
	for ; e.next < len(list); e.next++ {
		c := &eventspb.LeaseCommand{}
		if err := proto.Unmarshal(list[e.next].value, c); err != nil {
			e.w.h.fail(err)
			return
		}
		j := &job{offset: e.next, c: c}
		row := command.TargetOf(c).Row
		e.rows[row] = append(e.rows[row], j)
		if len(e.rows[row]) == 1 {
			e.attempt(row, j)
		}
	}
}

func (e *executor) commit() {
	for !e.isCutOff() && e.done[e.committed] {
		delete(e.done, e.committed)
		e.committed++
	}
}

// attempt sends the request of a command, and repeats it until there is an answer.
func (e *executor) attempt(row lease.PrimaryKey, j *job) {
	w, life := e.w, e.life
	again := func() {
		if life != e.life {
			return
		}
		if j.tries++; w.mutation == "executor does not retry" {
			e.finish(row, j)
			return
		}
		w.after(50<<min(j.tries, 5)+e.rng.Int64N(100), func() {
			if life == e.life {
				e.attempt(row, j)
			}
		})
	}
	if w.faults.on(Throttle, e.r.id) && e.rng.IntN(4) > 0 {
		w.h.mark("throttled")
		again()
		return
	}
	now := w.now + e.off
	if w.mutation != "executor ignores the write lease" && !e.writeLease.allows(w, e.r.id, e.r.id, now+executorTimeout) {
		if e.r.items[w.regionRow(e.r.id)].settings.state != "adopted" {
			again()
			return
		}
		e.result(j, &command.Request{Target: command.TargetOf(j.c)},
			answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_STALE, detail: "the region was adopted"})
		e.finish(row, j)
		return
	}
	o, err := e.terms.Make(j.c, now)
	if err != nil {
		e.result(j, &command.Request{Target: command.TargetOf(j.c)},
			answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_INVALID, detail: err.Error()})
		e.finish(row, j)
		return
	}
	late := j.c.GetNotAfterMs() > 0 && now > j.c.GetNotAfterMs()
	var a answer
	w.ask(e.rng, call{from: e.r.id, to: e.r, timeout: executorTimeout, do: func() { a = e.write(o, late) }, done: func(answered bool) {
		switch {
		case life != e.life:
		case !answered || e.isCutOff():
			again()
		default:
			e.result(j, o, a)
			e.finish(row, j)
		}
	}})
}

// answer is the outcome of a command.
type answer struct {
	outcome eventspb.LeaseOutcome
	detail  string
	version int64
}

// write is the table's answer to a command. A late command is only compared with the row.
func (e *executor) write(o *command.Request, late bool) (a answer) {
	w := e.w
	var id rowID
	if o.Kind == "supersede" {
		id = w.keyRow(numbered(o.Key), e.r.id)
	} else {
		id = rowID(numbered(o.Resource))
	}
	here := e.r.items[id].Row
	if late {
		if a.version = here.Version; o.IsMade(here) {
			a.outcome = eventspb.LeaseOutcome_LEASE_OUTCOME_DONE
			return a
		}
		a.outcome, a.detail = eventspb.LeaseOutcome_LEASE_OUTCOME_LATE, "after its time"
		return a
	}
	if w.mutation == "executor reports success without a write" {
		return answer{outcome: eventspb.LeaseOutcome_LEASE_OUTCOME_DONE, version: o.Write.Args.Version + 1}
	}
	if w.mutation == "executor ignores versions" {
		o.Write.Args.Version = here.Version
	}
	row, found, made := e.r.write(id, &o.Write, 0)
	a.outcome, a.detail = o.Outcome(row, found, made)
	a.version = row.Version
	if w.transcript != nil {
		w.transcribe(e.name, "%s %s: %s", w.describe(id, &o.Write), writeOutcome(row, made), outcomeName(a.outcome))
	}
	return a
}

// result writes the result of a command.
func (e *executor) result(j *job, o *command.Request, a answer) {
	w := e.w
	m := &eventspb.LeaseResult{
		Id: j.c.Id, Client: client, Pool: pool, Region: e.r.name, By: j.c.By, Kind: o.Kind, Resource: o.Resource, Key: o.Key,
		Outcome: a.outcome,
		Detail:  a.detail, Version: a.version, DoneMs: w.now + e.off, DecidedMs: j.c.DecidedMs,
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		w.h.fail(err)
		return
	}
	w.topics.results = append(w.topics.results, record{value, w.now})
	w.h.Results = append(w.h.Results, Result{At: w.now, Offset: j.offset, Region: e.r.id, Is: m})
	switch a.outcome {
	case eventspb.LeaseOutcome_LEASE_OUTCOME_STALE:
		w.h.mark("stale command")
	case eventspb.LeaseOutcome_LEASE_OUTCOME_LATE:
		w.h.mark("late command")
	case eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY:
		w.h.mark("early command")
	default:
	}
}

// finish starts the next command of the row.
func (e *executor) finish(row lease.PrimaryKey, j *job) {
	e.done[j.offset] = true
	if e.rows[row] = e.rows[row][1:]; len(e.rows[row]) == 0 {
		delete(e.rows, row)
		return
	}
	e.attempt(row, e.rows[row][0])
}
