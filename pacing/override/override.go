package override

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
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
	proto.Message
	GetAtMs() int64
	GetUntilMs() int64
	GetWho() string
	GetWhy() string
}

// InForce reports whether an override holds at a time.
func InForce(o Override, at time.Time) bool { return o.GetUntilMs() > at.UnixMilli() }

// Kind is a kind of overrides: Leaders, Campaigns or Writers.
type Kind[T Override] struct {
	name   string
	prefix string // of the keys
	new    func() T
	id     func(T) string // the rest of the key
	check  func(T) error
	ended  func(o T, atMs int64) T // the override that ends o at a time
}

// Check returns why the override cannot be given, nil if it can.
func (k Kind[T]) Check(o T) error {
	if err := k.check(o); err != nil {
		return err
	}
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

// Record returns the record of an override.
func (k Kind[T]) Record(o T) (key, value []byte, err error) {
	if err := k.Check(o); err != nil {
		return nil, nil, err
	}
	value, err = proto.Marshal(o)
	return []byte(k.prefix + k.id(o)), value, err
}

// Decode returns the override of a record, and nil for a record of another kind, such as one of a
// newer weir.
func (k Kind[T]) Decode(key, value []byte) (o T, err error) {
	if !strings.HasPrefix(string(key), k.prefix) {
		return o, nil
	}
	if value == nil {
		return o, errors.New("a tombstone does not end an override: withdraw it")
	}
	found := k.new()
	if err := proto.Unmarshal(value, found); err != nil {
		return o, fmt.Errorf("not a %s: %w", k.name, err)
	}
	if err := k.Check(found); err != nil {
		return o, err
	}
	if want := k.prefix + k.id(found); string(key) != want {
		return o, fmt.Errorf("the override has the key %q and not %q", key, want)
	}
	return found, nil
}

// Withdraw returns the override that ends o.
func (k Kind[T]) Withdraw(o T, at time.Time) T { return k.ended(o, at.UnixMilli()) }
