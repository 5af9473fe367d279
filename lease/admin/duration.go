package admin

import (
	"fmt"
	"time"
)

// Duration is a time.Duration whose JSON form is text, such as 1h30m0s.
type Duration time.Duration

// String returns the text of time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses a text as time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%w: %q is not a duration: write it as 10m or 1h30m", ErrInvalid, text)
	}
	*d = Duration(v)
	return nil
}
