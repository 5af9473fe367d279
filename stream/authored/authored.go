// Package authored finds what the author of a processor wrote in a handler that Processor.New has
// made. The runtime and package streamtest use it.
package authored

import (
	"fmt"
	"reflect"
)

// As returns, of a stream.Handler, the source for stream.FromSource, else the handler.
func As[H any](h any) (H, error) {
	written := h
	if w, ok := h.(interface{ Written() any }); ok {
		written = w.Written()
	}
	out, ok := written.(H)
	if !ok {
		return out, fmt.Errorf("the handler of the partition is a %T, which is no %s: ask for the type that Processor.New makes", written,
			reflect.TypeFor[H]())
	}
	return out, nil
}

// Ask calls fn with what As returns. For a handler of record functions, fn takes a *stream.Context:
// it works with the state, outputs and timers as a record function does, and what it did is undone
// if it returns an error.
func Ask[H any](h any, fn func(H) error) error {
	if r, ok := h.(interface{ AskContext(fn any) (bool, error) }); ok {
		if asked, err := r.AskContext(fn); asked {
			return err //nolint:wrapcheck // it is the author's error
		}
	}
	written, err := As[H](h)
	if err != nil {
		return err
	}
	return fn(written)
}
