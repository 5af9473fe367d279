package api

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
)

// Every error that leaves a handler is made here: a code to branch on, and a text that says what, why and what to do.

func errorf(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

func invalid(format string, args ...any) error {
	return errorf(connect.CodeInvalidArgument, format, args...)
}

func ambiguous(format string, args ...any) error {
	return errorf(connect.CodeFailedPrecondition, format, args...)
}

// sourceBug is for what a source must never do. No figure is made of it.
func sourceBug(format string, args ...any) error {
	return errorf(connect.CodeInternal,
		format+": this is a defect of weir, and no figure was made of it: please report it with the logs", args...)
}

// sourceError gives the error of a source its code. What names the thing that was asked for.
func sourceError(err error, what string) error {
	var coded *connect.Error
	if errors.As(err, &coded) { // one of ours, through the callback
		return coded
	}
	var parts *PartitionsError
	switch {
	case errors.As(err, &parts):
		return errorf(connect.CodeUnavailable, "%s is not readable now: %w: try again in a moment, or look at the partitions (weir lag)", what, err)
	case errors.Is(err, ErrRefused):
		return errorf(connect.CodeFailedPrecondition, "%s: %w", what, err)
	case errors.Is(err, context.Canceled):
		return errorf(connect.CodeCanceled, "%s: the caller gave up or the server stops: ask again: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded):
		return errorf(connect.CodeDeadlineExceeded, "%s took longer than its time limit: ask again, or look at the lag (weir lag): %w", what, err)
	}
	return errorf(connect.CodeInternal, "%s could not be read: %w: see the process's logs", what, err)
}

// withAsOf adds the snapshots that an answer without a figure was made of, as error details.
func withAsOf(err error, read []*weirpb.AsOf) error {
	var coded *connect.Error
	if !errors.As(err, &coded) {
		return err
	}
	// A gRPC error travels in one header: the bound keeps it below the usual limit of 8 KiB.
	for _, at := range read[:min(len(read), 32)] {
		d, derr := connect.NewErrorDetail(at)
		if derr != nil {
			return errors.Join(err, derr)
		}
		coded.AddDetail(d)
	}
	return err
}

// listed writes names for an error's text, quoted, the first maxListed of them.
func listed(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", n)
	}
	return b.String()
}
