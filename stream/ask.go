package stream

import (
	"fmt"
	"reflect"
)

// As returns what the author of a processor wrote, of a Handler that Processor.New has made: the
// Source for FromSource, else the Handler. It is for runtimes; programs use processors.HandlerOf.
func As[H any](h Handler) (H, error) {
	written := any(h)
	if w, ok := h.(interface{ written() any }); ok {
		written = w.written()
	}
	out, ok := written.(H)
	if !ok {
		return out, fmt.Errorf("the handler of the partition is a %T, which is no %s: ask for the type that Processor.New makes", written, reflect.TypeFor[H]())
	}
	return out, nil
}

// Ask calls fn with what As returns. For a handler of EachRecord, fn takes a *Context: it works
// with the state, outputs and timers as a record function does, and what it did is undone if it
// returns an error. It is for runtimes; programs use processors.Ask, tests streamtest.Ask.
func Ask[H any](h Handler, fn func(H) error) error {
	if ofContext, ok := any(fn).(func(*Context) error); ok {
		if r, ok := h.(interface {
			ask(fn func(*Context) error) error
		}); ok {
			return r.ask(ofContext)
		}
	}
	written, err := As[H](h)
	if err != nil {
		return err
	}
	return fn(written)
}
