// Package queues runs job queues on the runtime of package stream. Package jobqueue decides; this
// package stores what it has decided, and gives answers to agents when that has committed.
//
//	jobs.submits ─▶ Fold ─────▶┐           ┌ rows of the queue: state, changelog
//	                           ├─ jobqueue ┼ Committed ─▶ the jobs, to the agents that polled
//	agents: poll, complete ───▶┘ decisions ├ jobs.alarms: attempts fail, jobs wait for too long
//	(processors.Ask)           ▲           └ jobs.events: the decisions, of queues with events
//	                           └ Flush: leases that ended, jobs that are due, agents that are gone
//
// A Shard is the task of one partition. It has queues, each with its jobs. The number of a job is
// the offset of the record that submitted it, so a submitter has the id with the acknowledgement of
// the broker, also while no process owns the partition.
//
// # State
//
// Each transaction writes the rows that jobqueue.Queue.Delta returns: jobs, agents, segments, names
// of resources, mean run times, and the queue itself. A new owner restores its queues from the
// rows. Specifications and payloads are rows of their own, which are written once. When a segment
// of 65,536 jobs has closed, its rows are removed some at a time.
//
// # Invariants
//
//   - JOB-8: The rows of a committed transaction are those of the queue's state at its Flush: a new
//     owner has the state that the owner before has committed.
//   - JOB-9: An agent gets a job only after the transaction that started the attempt has committed.
//     So no crash and no takeover gives the same attempt to two agents, and a result of an attempt
//     that a later owner has replaced is refused.
//   - JOB-12: Shard.States has the states of the last committed transaction: readers never see the
//     state of an open one.
//   - JOB-13: With events, jobs.events has each committed decision but heartbeats, once, in the
//     order of the partition: the events of a job lead from its submission to its state.
//   - JOB-10: A submission is a job, or has a row with the reason why not, until the retention has
//     passed. A record that names no queue of the partition is a dead letter.
//
// # What depends on the clock
//
// Leases, backoffs and delays are measured with the clock of the owner. Its decisions are in the
// rows, so a new owner continues with the times that were decided. A clock that is ahead lets
// leases end early, and attempts that go on are refused then; it never lets two attempts count.
//
// # What it does not do
//
// It has no network: package api asks a Shard through processors.Ask. Jobs wait only for jobs of
// the same partition and queue. A poll is at one partition. A replay of jobs.submits alone gives
// another state, because the polls of agents are not records.
package queues
