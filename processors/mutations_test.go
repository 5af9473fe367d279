package processors

import (
	"context"
	"errors"
	"slices"

	"github.com/weirhq/weir/stream"
)

// Mutations returns bugs of the commit cycle, each as a failpoint that injects it. TestMutants
// requires that a check reports each of them.
func Mutations() map[string]func(w *Worker, at string) error {
	return map[string]func(w *Worker, at string) error{
		"applies before the end": func(w *Worker, at string) error {
			if at != "produced" {
				return nil
			}
			if err := w.sess.Client().Flush(context.Background()); err != nil {
				return err
			}
			return w.apply(w.commits)
		},
		"marker with a wrong offset": mutateCommits(func(c *taskCommit) {
			if c.marker.Inputs[0].Next > 3 {
				c.marker.Inputs[0].Next--
			}
		}),
		"sequence does not grow": mutateCommits(func(c *taskCommit) { c.marker.Sequence = 1 }),
		"a change is lost": mutateCommits(func(c *taskCommit) {
			if len(c.task.changes.List) > 3 {
				c.task.changes.List = c.task.changes.List[1:]
			}
		}),
		"a change is not in the changelog": mutateCommits(func(c *taskCommit) {
			if list := c.task.changes.List; len(list) > 2 && list[2].Op == stream.OpPut {
				list[2].Table = 200
			}
		}),
		"set timers are lost":   mutateTimers(stream.OpPut),
		"fired timers are kept": mutateTimers(stream.OpDelete),
		"a worker ends the process after a commit": func(w *Worker, at string) error {
			if at == "ended" && w.id == 1 {
				return errors.New("injected")
			}
			return nil
		},
	}
}

// ReportMutations returns bugs of when a commit is reported, each as a failpoint that injects it.
// TestAnswerMutants requires that a check reports each of them.
func ReportMutations() map[string]func(w *Worker, at string) error {
	return map[string]func(w *Worker, at string) error{
		"answers before the commit":              reportAt("flushed"),
		"answers while the transaction is open":  reportAt("written"),
		"answers before the store has the state": reportAt("ended"),
	}
}

// ReportTwice reports each commit at its time, and once more.
func ReportTwice() func(w *Worker, at string) error { return reportAt("applied") }

// reportAt reports the tasks of a transaction at a failpoint.
func reportAt(point string) func(w *Worker, at string) error {
	return func(w *Worker, at string) error {
		if at == point {
			for _, part := range w.commits {
				part.task.seq = part.marker.Sequence
			}
			w.reportCommits(w.commits)
		}
		return nil
	}
}

// mutateCommits changes each task's part of a transaction before it is produced.
func mutateCommits(mutate func(c *taskCommit)) func(w *Worker, at string) error {
	return func(w *Worker, at string) error {
		if at == "flushed" {
			for _, c := range w.commits {
				mutate(c)
			}
		}
		return nil
	}
}

// mutateTimers drops the changes of timers that have operation op.
func mutateTimers(op stream.Op) func(w *Worker, at string) error {
	return mutateCommits(func(c *taskCommit) {
		c.task.changes.List = slices.DeleteFunc(c.task.changes.List, func(x stream.Change) bool { return x.Table == stream.TimerTable && x.Op == op })
	})
}
