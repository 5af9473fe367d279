package handler

import (
	"fmt"

	"github.com/weirhq/weir/stream"
)

// Error is a failure that one task caused. The other tasks of its transaction did not fail.
type Error struct {
	Partition int32
	err       error
}

// NewError returns an Error of partition p.
func NewError(p int32, err error) error { return &Error{p, err} }

func (e *Error) Error() string { return fmt.Sprintf("partition %d: %v", e.Partition, e.err) }

func (e *Error) Unwrap() error { return e.err }

// Close closes a handler that is a stream.Closer; h may be nil.
func Close(h stream.Handler) {
	if c, ok := h.(stream.Closer); ok {
		c.Close()
	}
}
