package jobqueue_test

import (
	"fmt"

	"github.com/weirhq/weir/jobqueue"
)

// An agent gets the jobs that it can run, and is associated with the resource that its first job
// prefers, so that it gets the other job of that resource before an older one.
func Example() {
	q, err := jobqueue.New(jobqueue.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var log []jobqueue.Decision
	decide := func(d jobqueue.Decision, err error) {
		if err != nil {
			fmt.Println(err)
		}
		log = append(log, d)
	}
	decide(q.Submit(1000, 1, &jobqueue.Spec{Prefer: []string{"apple"}}))
	decide(q.Submit(1000, 2, &jobqueue.Spec{Prefer: []string{"cherry"}}))
	decide(q.Submit(1000, 3, &jobqueue.Spec{Prefer: []string{"apple"}}))
	decide(q.Submit(1000, 4, &jobqueue.Spec{Require: []string{"gpu"}, Priority: 15}))
	decide(q.Declare(1000, "worker", &jobqueue.Profile{}))
	for range 3 {
		ds, _, err := q.Poll(nil, 2000, &jobqueue.Poll{Agent: "worker", N: 1, Policy: jobqueue.Greedy})
		if err != nil {
			fmt.Println(err)
		}
		for _, d := range ds {
			fmt.Println("job", d.ID)
			log = append(log, d)
			decide(q.Complete(2500, "worker", d.ID, d.Attempt))
		}
	}
	why, err := q.Why(3000, 4)
	fmt.Println(why, err)

	replay, _ := jobqueue.New(jobqueue.Config{})
	for i := range log {
		if err := replay.Apply(&log[i]); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(replay.State(3), replay.State(4))
	// Output:
	// job 1
	// job 3
	// job 2
	// pending: 0 of 1 agents fit: 1 lack gpu <nil>
	// done pending
}
