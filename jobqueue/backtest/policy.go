package backtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/jobqueue"
)

// Kind is a kind of policies.
type Kind uint8

// The kinds of policies.
const (
	FIFO   Kind = iota // by priority and arrival; what jobs prefer is not known
	Greedy             // jobqueue.Greedy
	Delay              // jobqueue.Patient
)

// Policy is a scheduling policy. Its zero value is FIFO.
type Policy struct {
	Kind  Kind
	Delay time.Duration // of Delay
}

// maxDelay is the longest time that a queue has as a setting.
const maxDelay = 1000 * time.Hour

// ParsePolicy parses fifo, greedy, or delay:5s. The error wraps ErrConfig.
func ParsePolicy(text string) (Policy, error) {
	switch text {
	case "fifo":
		return Policy{}, nil
	case "greedy":
		return Policy{Kind: Greedy}, nil
	}
	if after, ok := strings.CutPrefix(text, "delay:"); ok {
		d, err := time.ParseDuration(after)
		if err == nil && d >= 0 && d <= maxDelay && d%time.Millisecond == 0 {
			return Policy{Delay, d}, nil
		}
		return Policy{}, fmt.Errorf("%w: policy %q: a delay is from 0s to %v, in whole milliseconds, such as delay:5s", ErrConfig, text,
			maxDelay)
	}
	return Policy{}, fmt.Errorf("%w: policy %q: use fifo, greedy, or delay with a time, such as delay:5s", ErrConfig, text)
}

// String returns the text that ParsePolicy parses.
func (p Policy) String() string {
	switch p.Kind {
	case Greedy:
		return "greedy"
	case Delay:
		return "delay:" + p.Delay.String()
	default:
		return "fifo"
	}
}

// poll returns the poll of an agent with the policy.
func (p Policy) poll() jobqueue.Poll {
	if p.Kind == Delay {
		return jobqueue.Poll{Policy: jobqueue.Patient, Delay: p.Delay.Milliseconds()}
	}
	return jobqueue.Poll{Policy: jobqueue.Greedy}
}
