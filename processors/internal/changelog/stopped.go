package changelog

import (
	"fmt"
)

// StoppedError is the cause for which a partition is stopped until an operator acts.
type StoppedError struct {
	Partition int32
	Err       error
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("partition %d stopped: %v", e.Partition, e.Err)
}

func (e *StoppedError) Unwrap() error { return e.Err }

// Stopped returns a StoppedError of partition p.
func Stopped(p int32, why error) error { return &StoppedError{Partition: p, Err: why} }
