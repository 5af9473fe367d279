package changelog

import (
	"fmt"
)

// StoppedError says that a partition is held back, and why.
type StoppedError struct {
	Partition int32
	Err       error
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("partition %d stopped: %v", e.Partition, e.Err)
}

func (e *StoppedError) Unwrap() error { return e.Err }

// Stopped returns a StoppedError.
func Stopped(p int32, why error) error { return &StoppedError{Partition: p, Err: why} }
