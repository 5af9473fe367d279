package processors

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/pause"
)

// stoppedLimit is the time for which all partitions of a process are stopped until Run ends. It
// bridges the start, when partitions come one after another, and lets an operator look.
const stoppedLimit = time.Minute

// watchStopped returns ErrAllStopped once all partitions of this process have been stopped for
// stoppedLimit. A process without a partition never ends by it.
func (r *Runtime) watchStopped(ctx context.Context, follower *standby) error {
	since := time.Now()
	for pause.For(ctx, time.Second) {
		_, warming := follower.wanted()
		reason := allStopped(r.Status(), len(warming))
		switch {
		case reason == "":
			since = time.Now()
		case time.Since(since) >= stoppedLimit:
			return fmt.Errorf("%w: %s in process %s for %s: %s. No record is lost. Correct the cause, and restart the process",
				ErrAllStopped, r.proc.App, r.cfg.Instance, stoppedLimit, reason)
		}
	}
	return nil
}

// allStopped returns the reason of the first partition if all partitions of a process are stopped
// until a restart, and otherwise an empty string. warming is the number of partitions that come to
// the process once it has caught up with them.
func allStopped(tasks []Status, warming int) string {
	if warming > 0 {
		return ""
	}
	reason, owned := "", 0
	for _, s := range tasks {
		switch {
		case s.State == StateStandby:
			continue
		case s.State != StateStopped || s.awaitsSkip:
			return ""
		case owned == 0:
			reason = fmt.Sprintf("partition %d: %s", s.Partition, s.Reason)
		}
		owned++
	}
	if owned > 1 {
		reason = fmt.Sprintf("%s (and %d more)", reason, owned-1)
	}
	return reason
}
