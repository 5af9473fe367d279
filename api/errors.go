package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
)

// Every error that leaves a handler is made here: a code for programs, and a text that states what
// failed, why and what to do.

func errorf(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

func invalid(format string, args ...any) error {
	return errorf(connect.CodeInvalidArgument, format, args...)
}

func ambiguous(format string, args ...any) error {
	return errorf(connect.CodeFailedPrecondition, format, args...)
}

// sourceBug reports a violation of the contract of a source. No figure is returned.
func sourceBug(format string, args ...any) error {
	return errorf(connect.CodeInternal,
		format+": this is a defect of weir, and the answer was discarded: please report it with the logs", args...)
}

// sourceError gives the error of a source its code. what names the object of the request.
func sourceError(err error, what string) error {
	var coded *connect.Error
	if errors.As(err, &coded) { // an error of this package, through the callback
		return coded
	}
	var parts *PartitionsError
	switch {
	case errors.As(err, &parts) && parts.stopped():
		return errorf(connect.CodeUnavailable,
			"%s cannot be read: %w: a stopped partition continues only after an operator has removed the reason; "+
				"the list of partitions has the reasons", what, err)
	case errors.As(err, &parts):
		return errorf(connect.CodeUnavailable, "%s cannot be read now: %w: try again in a moment, or list the partitions", what, err)
	case errors.Is(err, ErrRefused):
		return errorf(connect.CodeFailedPrecondition, "%s: %w", what, err)
	case errors.Is(err, context.Canceled):
		return errorf(connect.CodeCanceled, "%s: the caller cancelled the request or the server is stopping: send it again: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded):
		return errorf(connect.CodeDeadlineExceeded,
			"%s took longer than its time limit: send the request again, or look at the lag of the partitions: %w", what, err)
	}
	return errorf(connect.CodeInternal, "%s could not be read: %w: see the log of the process", what, err)
}

// withAsOf adds the snapshots that were read for an answer without a figure, as error details.
func withAsOf(err error, read []*weirpb.AsOf) error {
	// A gRPC error is sent in one header. The bound keeps it below the usual limit of 8 KiB.
	for _, at := range read[:min(len(read), 32)] {
		err = withDetail(err, at)
	}
	return err
}

// withDetail adds a message for programs to an error of this package.
func withDetail(err error, detail proto.Message) error {
	var coded *connect.Error
	if !errors.As(err, &coded) {
		return err
	}
	d, derr := connect.NewErrorDetail(detail)
	if derr != nil {
		return errors.Join(err, derr)
	}
	coded.AddDetail(d)
	return err
}

// IsAppNotRunning reports whether an error of a Client is about an application that the process
// does not run.
func IsAppNotRunning(err error) bool {
	var coded *connect.Error
	if !errors.As(err, &coded) {
		return false
	}
	return slices.ContainsFunc(coded.Details(), func(d *connect.ErrorDetail) bool {
		m, err := d.Value()
		_, is := m.(*weirpb.AppNotRunning)
		return err == nil && is
	})
}

// listed returns the first maxListed names, quoted, for the text of an error.
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
