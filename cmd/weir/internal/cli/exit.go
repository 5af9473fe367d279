package cli

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
	ExitOK          = 0
	ExitFailed      = 1   // it ran, and the answer is no: not found, a check that failed
	ExitUsage       = 64  // the command line is wrong
	ExitData        = 65  // the input data is wrong
	ExitUnavailable = 69  // a server or broker does not answer
	ExitSoftware    = 70  // weir is wrong
	ExitLocked      = 73  // another process holds the state directory
	ExitIO          = 74  // a disk, file or pipe failed
	ExitTempFail    = 75  // not now: try again
	ExitAuth        = 77  // not allowed
	ExitConfig      = 78  // the configuration is wrong
	ExitInterrupted = 130 // stopped by a signal before the end
)

// Failure is an error as the user reads it. Commands return one where they know more than explain can.
type Failure struct {
	Code int
	What string // what failed
	Why  string // the cause; empty takes err's text
	Do   string // what to do now
	err  error  // may be nil
}

// Error is what and why in one line.
func (f *Failure) Error() string {
	if f.Why == "" {
		return f.What
	}
	return f.What + ": " + f.Why
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.err }

// Fail explains err: what was tried, and what to do now. The code follows from err's kind where code is 0.
func Fail(code int, what string, err error, do string) error {
	f := Explain(err)
	f.What, f.err = what, err
	if code != 0 {
		f.Code = code
	}
	if do != "" {
		f.Do = do
	}
	return f
}

// UsageError is the failure of a command line.
func UsageError(why, do string) error {
	return &Failure{Code: ExitUsage, What: "the command line is not right", Why: why, Do: do}
}

// Explain turns any error into a failure, by its kind.
func Explain(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		c := *f
		return &c
	}
	var ce *config.Error
	if errors.As(err, &ce) {
		return &Failure{Code: ExitConfig, What: "the configuration is not valid", Why: err.Error(), Do: "correct it; `weir config check` checks it again", err: err}
	}
	f = &Failure{Code: ExitFailed, What: "it failed", Why: err.Error(), Do: "`weir doctor` checks what weir needs; --log-level debug says more", err: err}
	var ie *net.OpError
	var dns *net.DNSError
	var rpc *connect.Error
	switch {
	case errors.As(err, &rpc):
		explainRPC(f, rpc)
	case errors.Is(err, context.Canceled):
		f.Code, f.What, f.Why, f.Do = ExitInterrupted, "interrupted", "a signal asked it to stop", "run it again: what was done is kept"
	case errors.Is(err, context.DeadlineExceeded):
		f.Code, f.What, f.Do = ExitUnavailable, "no answer in time", "check that the other side runs, then try again"
	case errors.As(err, &ie), errors.As(err, &dns):
		f.Code, f.What, f.Do = ExitUnavailable, "cannot connect", "check the address and that the other side runs"
	case errors.Is(err, fs.ErrPermission):
		f.Code, f.What, f.Do = ExitIO, "no permission", "check the owner and mode of the file"
	case isIO(err):
		f.Code, f.What, f.Do = ExitIO, "reading or writing failed", "check the path, the free space and the disk"
	}
	return f
}

// isIO tells whether err came from a file or pipe.
func isIO(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EPIPE)
}

// explainRPC goes by what the server said.
func explainRPC(f *Failure, err *connect.Error) {
	f.Why = err.Message()
	switch err.Code() {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeResourceExhausted:
		f.Code, f.What, f.Do = ExitUnavailable, "the server does not answer", "check --server and that `weir run` or `weir dev` is up and ready"
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		f.Code, f.What, f.Do = ExitAuth, "the server does not allow it", "sign in, or ask an administrator for the role"
	case connect.CodeInvalidArgument, connect.CodeOutOfRange:
		f.Code, f.What, f.Do = ExitUsage, "the server does not take the request", "correct the arguments"
	case connect.CodeNotFound:
		f.Code, f.What, f.Do = ExitFailed, "not found", "check the spelling; what was produced a moment ago may need --wait"
	case connect.CodeDataLoss:
		f.Code, f.What, f.Do = ExitData, "the server found damaged data", "see the server's log"
	case connect.CodeInternal, connect.CodeUnknown, connect.CodeUnimplemented:
		f.Code, f.What, f.Do = ExitSoftware, "the server failed", "see the server's log; client and server should be of one version"
	case connect.CodeCanceled:
		f.Code, f.What, f.Do = ExitInterrupted, "interrupted", "run it again"
	default:
		f.What = "the server refused"
	}
}

// report prints err for a person and returns its exit code.
func (a *App) report(err error) int {
	f := Explain(err)
	label, reset := "", ""
	if a.Color() {
		label, reset = "\x1b[1;31m", "\x1b[0m"
	}
	why := f.Why
	if why == "" && f.err != nil {
		why = f.err.Error()
	}
	fmt.Fprintf(a.Stderr, "%sweir:%s %s\n", label, reset, f.What)
	if why != "" {
		fmt.Fprintf(a.Stderr, "  why: %s\n", strings.ReplaceAll(strings.TrimSpace(why), "\n", "\n       "))
	}
	fmt.Fprintf(a.Stderr, "  do:  %s\n", f.Do)
	var raw interface{ Raw() string } // the answer of a server, word for word
	if errors.As(f.err, &raw) && raw.Raw() != "" {
		if c, err := a.LoadConfig(); err == nil && (c.Log.Level == "debug" || c.Log.Level == "trace") {
			fmt.Fprintf(a.Stderr, "  raw: %s\n", raw.Raw())
		}
	}
	return f.Code
}
