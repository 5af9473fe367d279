package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/internal/config"
)

// Exit codes. Scripts rely on them: they do not change.
const (
	exitOK          = 0
	exitFailed      = 1   // it ran, and the answer is no: not found, a check that failed
	exitUsage       = 64  // the command line is wrong
	exitData        = 65  // the input data is wrong
	exitUnavailable = 69  // a server or broker does not answer
	exitBug         = 70  // weir is wrong
	exitLocked      = 73  // another process holds the state directory
	exitIO          = 74  // a disk, file or pipe failed
	exitLater       = 75  // not now: try again
	exitAuth        = 77  // not allowed
	exitConfig      = 78  // the configuration is wrong
	exitInterrupted = 130 // stopped by a signal before the end
)

// failure is an error as the user reads it. Commands return one where they know more than explain can.
type failure struct {
	code int
	what string // what failed
	why  string // the cause; empty takes err's text
	do   string // what to do now
	err  error  // may be nil
}

// Error is what and why in one line.
func (f *failure) Error() string {
	if f.why == "" {
		return f.what
	}
	return f.what + ": " + f.why
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// fail explains err: what was tried, and what to do now. The code follows from err's kind where code is 0.
func fail(code int, what string, err error, do string) error {
	f := explain(err)
	f.what, f.err = what, err
	if code != 0 {
		f.code = code
	}
	if do != "" {
		f.do = do
	}
	return f
}

// usage is the failure of a command line.
func usage(why, do string) error {
	return &failure{code: exitUsage, what: "the command line is not right", why: why, do: do}
}

// explain turns any error into a failure, by its kind.
func explain(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		c := *f
		return &c
	}
	var ce *config.Error
	if errors.As(err, &ce) {
		return &failure{code: exitConfig, what: "the configuration is not valid", why: err.Error(), do: "correct it; `weir config check` checks it again", err: err}
	}
	f = &failure{code: exitFailed, what: "it failed", why: err.Error(), do: "`weir doctor` checks what weir needs; --log-level debug says more", err: err}
	var ie *net.OpError
	var dns *net.DNSError
	var rpc *connect.Error
	switch {
	case errors.As(err, &rpc):
		explainRPC(f, rpc)
	case errors.Is(err, context.Canceled):
		f.code, f.what, f.why, f.do = exitInterrupted, "interrupted", "a signal asked it to stop", "run it again: what was done is kept"
	case errors.Is(err, context.DeadlineExceeded):
		f.code, f.what, f.do = exitUnavailable, "no answer in time", "check that the other side runs, then try again"
	case errors.As(err, &ie), errors.As(err, &dns):
		f.code, f.what, f.do = exitUnavailable, "cannot connect", "check the address and that the other side runs"
	case errors.Is(err, fs.ErrPermission):
		f.code, f.what, f.do = exitIO, "no permission", "check the owner and mode of the file"
	case isIO(err):
		f.code, f.what, f.do = exitIO, "reading or writing failed", "check the path, the free space and the disk"
	}
	return f
}

// isIO tells whether err came from a file or pipe.
func isIO(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EPIPE)
}

// explainRPC goes by what the server said.
func explainRPC(f *failure, err *connect.Error) {
	f.why = err.Message()
	switch err.Code() {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeResourceExhausted:
		f.code, f.what, f.do = exitUnavailable, "the server does not answer", "check --server and that `weir run` or `weir dev` is up and ready"
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		f.code, f.what, f.do = exitAuth, "the server does not allow it", "sign in, or ask an administrator for the role"
	case connect.CodeInvalidArgument, connect.CodeOutOfRange:
		f.code, f.what, f.do = exitUsage, "the server does not take the request", "correct the arguments"
	case connect.CodeNotFound:
		f.code, f.what, f.do = exitFailed, "not found", "check the spelling; what was produced a moment ago may need --wait"
	case connect.CodeDataLoss:
		f.code, f.what, f.do = exitData, "the server found damaged data", "see the server's log"
	case connect.CodeInternal, connect.CodeUnknown, connect.CodeUnimplemented:
		f.code, f.what, f.do = exitBug, "the server failed", "see the server's log; client and server should be of one version"
	case connect.CodeCanceled:
		f.code, f.what, f.do = exitInterrupted, "interrupted", "run it again"
	default:
		f.what = "the server refused"
	}
}

// report prints err for a person and returns its exit code.
func (a *app) report(err error) int {
	f := explain(err)
	label, reset := "", ""
	if a.color() {
		label, reset = "\x1b[1;31m", "\x1b[0m"
	}
	why := f.why
	if why == "" && f.err != nil {
		why = f.err.Error()
	}
	fmt.Fprintf(a.stderr, "%sweir:%s %s\n", label, reset, f.what)
	if why != "" {
		fmt.Fprintf(a.stderr, "  why: %s\n", strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n       "))
	}
	fmt.Fprintf(a.stderr, "  do:  %s\n", f.do)
	var raw interface{ Raw() string } // the answer of a server, word for word
	if errors.As(f.err, &raw) && raw.Raw() != "" {
		if c, err := a.loadConfig(); err == nil && (c.Log.Level == "debug" || c.Log.Level == "trace") {
			fmt.Fprintf(a.stderr, "  raw: %s\n", raw.Raw())
		}
	}
	return f.code
}
