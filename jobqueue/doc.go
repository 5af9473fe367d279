// Package jobqueue decides which agent gets which job: the core of a job queue that schedules with
// bit-vector indexes (Kuznetsov and Kholodov, "Job Queue Scheduling with Bit Vector Indexes",
// 2017). It is a state machine in memory. Package queues makes it a service.
//
//	q, err := jobqueue.New(jobqueue.Config{})
//	_, err = q.Declare(now, "a1", &jobqueue.Profile{Has: []string{"gpu"}})
//	_, err = q.Submit(now, 1, &jobqueue.Spec{Require: []string{"gpu"}, Prefer: []string{"model:x"}})
//	ds, retry, err := q.Poll(nil, now, &jobqueue.Poll{Agent: "a1", N: 1, Policy: jobqueue.Greedy})
//	_, err = q.Complete(now, "a1", ds[0].ID, ds[0].Attempt)
//
// A request is checked against the state. Its result is a list of decisions, as data. Only Apply
// changes the state, so a replay of the decisions gives the same state:
//
//	request, time ─▶ check ─▶ decision ─▶ Apply ─▶ matrix      one vector per state, and 4 bits
//	                   │          │                signatures  inverted lists of resources
//	                   ▼          ▼                pending     per priority and signature, with head
//	                 error     the caller's log    timers      leases, delays, backoffs
//	                                               monitor     rates, outages; see Watch
//
// # How a job is picked
//
// The seed picks from Pending AND the vectors of the agent's resources. That costs up to
// milliseconds for millions of jobs, so the queue maintains the intersection. Jobs with equal
// requirements have one signature (HTCondor: autoclusters; Borg: equivalence classes). The inverted
// lists are over signatures, an agent has a vector of the signatures whose requirements it meets,
// and each priority and signature has the set of its pending jobs with its lowest id, the head. A
// pick compares heads. The literal AND is the oracle of the tests.
//
// The order of heads is: those that are pending longer than Config.MaxPendingWait, by id; then by
// priority; within a priority first jobs that prefer a resource of the agent, then jobs without
// preferences, then jobs whose preferred resources no agent has, then the others; then by
// Config.Order; then by id. A retry keeps its id, and so its place. Policy Wait takes only the
// first two of the four, Greedy takes all, and Patient takes the last one after a delay. An agent
// that gets a job of which it has no preferred resource is associated with these resources.
//
// # Invariants
//
//   - JOB-1: A job is in exactly one state. The populations of the states are the number of jobs.
//   - JOB-2: The maintained index equals the literal AND: a poll gets the job that the order above
//     gives when it is computed from all jobs.
//   - JOB-3: A refused request changes nothing. A request whose effect is there already changes
//     nothing and succeeds.
//   - JOB-4: At most one attempt of a job runs. Attempts have ascending numbers, also after Redo,
//     and a result of another attempt is refused.
//   - JOB-5: Only Apply changes what a Snapshot has. Equal decisions give equal states, and equal
//     states decide equally: no map order, clock or random number takes part. A snapshot with the
//     decisions since is equal to a replay of all.
//   - JOB-6: No job starves that an agent could run: if it is the head of its signature and pending
//     longer than MaxPendingWait, an agent that polls with Greedy or Patient gets it before all
//     jobs with higher ids. Finitely many jobs have lower ids, and each has finitely many tries.
//   - JOB-7: State may be called while another goroutine changes the queue. It returns the state
//     before or after a change.
//   - JOB-11: A queue decides equally whether it is watched or not. What the monitor counts as
//     pending and running is the number of these jobs.
//
// # What is watched
//
// The seed sees an outage as an explosion of FAILED, and a lack of capacity as growth of PENDING.
// After Watch, a monitor counts each transition. For each resource, signature and agent it keeps a
// cumulative sum (Page 1954) of log-likelihood ratios of failure against the usual share.
// When one crosses its bound, the attempts since the sum left 0 are counted by each factor that
// they have, which is the AND of FAILED with the inverted lists, and the factor with the greatest G
// statistic is the name of the outage. Attempts that an outage explains count for nothing else. The
// jobs that require the same resources are a class: agents can run all of a class or none. Each has
// rates, and the number of slots that keeps Config.WaitTarget by the formula of Erlang C.
//
// # What the caller does
//
//  1. It gives each job an id greater than all before: the offset of the record that submitted it.
//  2. It calls all methods but State from one goroutine at a time.
//  3. It logs the decisions of a request before their effects are visible outside, or fences agents
//     by owner as well as by attempt. It replays them with the same Config.
//  4. It calls Tick at the time of Next, and before Poll.
//  5. It keeps polls that got nothing, and repeats them at the returned time and after decisions
//     that make a job pending or change agents.
//  6. It calls Down for an agent that is gone. Without that, the leases of its jobs end one by one.
//  7. It calls Evict from time to time: a job that ended takes about 10 bytes until then, and less
//     than a quarter of a bit afterwards, if most jobs are Done and most ids have a job. If more
//     than an eighth of the ids of a segment failed, were canceled or have no job, each of its ids
//     takes 2 bits. So ids with many gaps cost memory for the gaps. A segment stays open while a
//     Blocked job waits for one of its jobs.
//  8. It stores payloads, results and errors: the queue has none.
//  9. It checks its clock. Time does not go back, also in a replay: after one decision with a time
//     an hour ahead the time of the queue stands still for an hour, so that no lease ends and no
//     delay is over. The queue does not limit a jump, as it cannot distinguish it from an hour
//     without decisions.
//  10. It refuses requests of agents without a name. For Complete, Fail, FailForGood, Return and
//     Heartbeat an empty name is any agent: only the attempt is checked.
//
// # What it does not do
//
// It has no settings per job: lease, number of tries and backoff are those of the queue. It does
// not change the priority of a job. A job that waits for others starts when all are Done; if one
// fails or is canceled, it stays Blocked until that is redone, or until it is canceled itself.
// Polls cannot select a group. Resources are names, without numbers such as an amount of memory.
// Names of resources are never forgotten; Config.MaxResources limits them. A signature is forgotten
// with its last job. If each job has its own signature, a pick takes time in proportion to the
// pending jobs.
//
// Rates and usual shares are not part of a Snapshot: after a restart they begin again. The queue
// encodes no decision and no snapshot.
package jobqueue
