package queues

import (
	"fmt"
	"regexp"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
)

// Defaults of settings that package jobqueue does not have.
const (
	DefaultRetention = 24 * time.Hour
	DefaultMaxJobs   = 10_000_000
)

var queueName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

// ValidName reports whether s can be the name of a queue: 1 to 100 lower-case letters, digits, '.',
// '_' and '-', of which the first is a letter or a digit.
func ValidName(s string) bool { return queueName.MatchString(s) }

// coreConfig returns the settings of the core. The error wraps jobqueue.ErrInvalid.
func coreConfig(m *eventspb.JobQueueSettings) (jobqueue.Config, error) {
	const most = int64(1000 * time.Hour / time.Millisecond)
	for _, f := range []struct {
		name string
		ms   int64
	}{
		{"lease", m.GetLeaseMs()},
		{"backoff", m.GetBackoffMs()},
		{"longest backoff", m.GetMaxBackoffMs()},
		{"longest wait", m.GetMaxPendingMs()},
		{"retention", m.GetRetentionMs()},
		{"wait target", m.GetWaitTargetMs()},
	} {
		if f.ms < 0 || f.ms > most {
			return jobqueue.Config{}, fmt.Errorf("%w setting: the %s of %d ms is not between 0 and %d", jobqueue.ErrInvalid, f.name, f.ms,
				most)
		}
	}
	if m.GetMaxJobs() < 0 || m.GetAvoidMs() > most {
		return jobqueue.Config{}, fmt.Errorf("%w setting: %d jobs at most, or %d ms for which an agent does not get a job again",
			jobqueue.ErrInvalid, m.GetMaxJobs(), m.GetAvoidMs())
	}
	cfg := jobqueue.Config{
		Lease: ms(m.GetLeaseMs()), MaxAttempts: int(m.GetMaxAttempts()), Backoff: ms(m.GetBackoffMs()), MaxBackoff: ms(m.GetMaxBackoffMs()),
		MaxPendingWait: ms(m.GetMaxPendingMs()), Blacklist: ms(max(m.GetAvoidMs(), -1)), Associations: int(m.GetAssociations()),
		MaxResources: int(m.GetMaxResources()), WaitTarget: ms(m.GetWaitTargetMs()),
	}
	if m.GetFastestFirst() {
		cfg.Order = jobqueue.Fastest
	}
	if _, err := jobqueue.New(cfg); err != nil {
		return cfg, err
	}
	return cfg, nil
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (q *queue) lease() time.Duration {
	if n := q.settings.GetLeaseMs(); n > 0 {
		return ms(n)
	}
	return time.Minute
}

func (q *queue) retention() time.Duration {
	if n := q.settings.GetRetentionMs(); n > 0 {
		return ms(n)
	}
	return DefaultRetention
}

func (q *queue) maxJobs() uint64 {
	if n := q.settings.GetMaxJobs(); n > 0 {
		return uint64(n)
	}
	return DefaultMaxJobs
}
