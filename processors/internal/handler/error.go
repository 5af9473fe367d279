package handler

import (
	"fmt"

	"github.com/weirhq/weir/stream"
)

// Error is a failure that one task brought about: the others of its transaction are innocent.
type Error struct {
	Partition int32
	err       error
}

// NewError names the partition whose handler failed.
func NewError(p int32, err error) error { return &Error{p, err} }

func (e *Error) Error() string { return fmt.Sprintf("partition %d: %v", e.Partition, e.err) }

func (e *Error) Unwrap() error { return e.err }

// Close is the end of a handler; h may be nil.
func Close(h stream.Handler) {
	if c, ok := h.(stream.Closer); ok {
		c.Close()
	}
}
