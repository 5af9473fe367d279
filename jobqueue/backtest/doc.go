// Package backtest runs a recorded trace of jobs again, in simulated time, on the core of the job
// queue: it shows what a scheduling policy, or another number of agents, would have meant for waits
// and for the data that agents have at hand.
//
//	SWF, JSON lines ── Read ──▶ Trace ─ Scale ─┐
//	                                           ▼
//	arrivals, ends of jobs, ends of delays ─▶ Run ◀─▶ jobqueue.Queue: Submit, Poll, Complete
//	                                           │
//	                 Size: Run by bisection    └─▶ Result: hits, waits, use of agents ─▶ SVG
//
// It is pure, and has no clock and no random numbers: equal traces give equal results.
//
// # What is simulated
//
//   - Jobs arrive when they did in the trace, whatever they wait.
//   - An agent polls for all of its free slots until it gets a job. If several agents poll, the one
//     that waits longest is served first, as by the owner of a partition. Polls that can get no job
//     are left out. A test compares with a simulation that polls for all idle agents at each event.
//   - A job occupies a slot for its recorded run time. If it prefers resources, and the agent has
//     none of them, it first loads them for Config.Load, and the agent keeps them: as many as
//     Config.Associations, least recently used. The queue associates the agent with the same
//     resources, so what it believes is what the agent has.
//   - With FIFO, the queue does not know what jobs prefer. Agents load and keep resources all the
//     same.
//
// # What it does not do
//
// Every attempt succeeds, and every lease is renewed: there are no retries, no lost agents, and no
// time between a poll and its answer. The queue has one partition. A resource counts as loaded from
// the start of the job that loads it, also for other slots of the agent. A job takes one slot,
// whatever number of processors it had. The recorded run time has what loading had cost when it was
// recorded, if it had. It opens no files.
package backtest
