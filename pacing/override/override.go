package override

import (
	"fmt"
	"time"
)

// Bounds of an override.
const (
	// MinFor is the least time for which an override holds.
	MinFor = time.Second
	// MaxFor is the greatest time for which an override holds.
	MaxFor = 24 * time.Hour
	// MaxText is the greatest length of who and why, in bytes.
	MaxText = 500
)

// Override is what all kinds of overrides have.
type Override interface {
	GetAtMs() int64
	GetUntilMs() int64
	GetWho() string
	GetWhy() string
}

// InForce reports whether an override holds at a time.
func InForce(o Override, at time.Time) bool { return o.GetUntilMs() > at.UnixMilli() }

// check returns what is wrong with the times and texts of an override, nil if nothing is.
func check(o Override) error {
	at, until := o.GetAtMs(), o.GetUntilMs()
	switch {
	case at <= 0, until < at:
		return fmt.Errorf("the override begins at %d and ends at %d, Unix ms", at, until)
	case until != at && (until-at < MinFor.Milliseconds() || until-at > MaxFor.Milliseconds()):
		return fmt.Errorf("the override holds for %d ms: use %s to %s", until-at, MinFor, MaxFor)
	case len(o.GetWho()) > MaxText, len(o.GetWhy()) > MaxText:
		return fmt.Errorf("who has %d bytes and why %d: use at most %d", len(o.GetWho()), len(o.GetWhy()), MaxText)
	}
	return nil
}
