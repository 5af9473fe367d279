package admin

import (
	"fmt"
	"time"
)

// Duration is a time.Duration that is text in JSON: 1h30m0s.
type Duration time.Duration

// String is the duration as time.Duration prints it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText is String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%w: %q is no duration: write it as 10m or 1h30m", ErrInvalid, text)
	}
	*d = Duration(v)
	return nil
}
