package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/internal/config"
)

// Exit codes. Scripts rely on them: they do not change.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the command ran, and its answer is no: not found, a failed check
	ExitUsage       = 64  // the command line is not valid
	ExitData        = 65  // the input data is not valid
	ExitUnavailable = 69  // a server or broker does not answer
	ExitSoftware    = 70  // a bug of weir
	ExitLocked      = 73  // another process holds the state directory
	ExitIO          = 74  // a disk, file or pipe failed
	ExitTempFail    = 75  // a later try may succeed
	ExitAuth        = 77  // no permission
	ExitConfig      = 78  // the configuration is not valid
	ExitInterrupted = 130 // stopped by a signal before the end
)

// Failure is an error as the user reads it. Commands return one where they know more than Explain.
type Failure struct {
	Code int
	What string // what failed
	Why  string // the cause; empty: the text of err
	Do   string // what to do now
	err  error  // may be nil
}

// Error returns what and why in one line.
func (f *Failure) Error() string {
	if f.Why == "" {
		return f.What
	}
	return f.What + ": " + f.Why
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.err }

// Fail returns a Failure for err. what is what failed, do is what the user can do. If code is 0 or
// do is empty, the kind of err determines it.
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

// UsageError returns the Failure of a command line.
func UsageError(why, do string) error {
	return &Failure{Code: ExitUsage, What: "the command line is not valid", Why: why, Do: do}
}

// Explain returns the Failure of any error, by its kind.
func Explain(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		c := *f
		return &c
	}
	var ce *config.Error
	if errors.As(err, &ce) {
		return &Failure{
			Code: ExitConfig, What: "the configuration is not valid", Why: err.Error(),
			Do: "correct the settings; `weir config check` checks them", err: err,
		}
	}
	f = &Failure{
		Code: ExitFailed, What: "the command failed", Why: err.Error(),
		Do: "`weir doctor` checks what weir needs; --log-level debug logs details", err: err,
	}
	var ie *net.OpError
	var dns *net.DNSError
	var rpc *connect.Error
	switch {
	case errors.As(err, &rpc):
		explainRPC(f, rpc)
	case errors.Is(err, context.Canceled):
		f.Code, f.What, f.Why, f.Do = ExitInterrupted, "interrupted", "a signal stopped the command",
			"run the command again: completed steps are kept"
	case errors.Is(err, context.DeadlineExceeded):
		f.Code, f.What, f.Do = ExitUnavailable, "no answer in time", "check that the server or the brokers run, then try again"
	case errors.As(err, &ie) && ie.Op == "listen":
		f.Code, f.What, f.Do = ExitUnavailable, "cannot listen",
			"stop the process that has the address, or choose another: --listen and --ops-listen, or api.listen and api.ops_listen; port 0 is any free port"
	case errors.As(err, &ie), errors.As(err, &dns):
		f.Code, f.What, f.Do = ExitUnavailable, "cannot connect", "check the address, and that the server or the brokers run"
	case errors.Is(err, fs.ErrPermission):
		f.Code, f.What, f.Do = ExitIO, "no permission", "check the owner and the mode of the file"
	case isIO(err):
		f.Code, f.What, f.Do = ExitIO, "reading or writing failed", "check the path, the free space and the disk"
	}
	return f
}

// isIO reports whether err is of a file or a pipe.
func isIO(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EPIPE)
}

// fieldRemedy is the remedy of requests that are not valid.
const fieldRemedy = "correct the flags: the message names fields of the request, and a flag has the name of its field; page_token is --page"

// explainRPC explains an error of the API by its code. An error that no weir process has sent has a
// code of the client.
func explainRPC(f *Failure, err *connect.Error) {
	if !connect.IsWireError(err) && explainNoAnswer(f, err) {
		return
	}
	f.Why = err.Message()
	switch err.Code() {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeResourceExhausted:
		f.Code, f.What, f.Do = ExitUnavailable, "the server cannot answer now",
			"`weir doctor` checks the partitions and what they need; `weir lag` shows their owners and how far they are"
	case connect.CodeUnauthenticated, connect.CodePermissionDenied:
		f.Code, f.What, f.Do = ExitAuth, "the server denies access",
			"set --token-file or api.token_file to a file with the token of the server"
	case connect.CodeInvalidArgument, connect.CodeOutOfRange:
		f.Code, f.What, f.Do = ExitUsage, "the server rejects the request", fieldRemedy
	case connect.CodeNotFound:
		f.Code, f.What, f.Do = ExitFailed, "not found", "check the spelling of the names"
	case connect.CodeDataLoss:
		f.Code, f.What, f.Do = ExitData, "the server found damaged data", "see the log of the server"
	case connect.CodeInternal, connect.CodeUnknown, connect.CodeUnimplemented:
		f.Code, f.What, f.Do = ExitSoftware, "the server failed",
			"see the log of the server; client and server should have the same version"
	case connect.CodeCanceled:
		f.Code, f.What, f.Do = ExitInterrupted, "interrupted", "run the command again"
	case connect.CodeFailedPrecondition:
		f.What, f.Do = "the server refused the request", fieldRemedy
	default:
		f.What = "the server refused the request"
	}
}

// explainNoAnswer explains a call that no weir process has answered, and reports whether err is
// one. The text of the client has the address and what is there.
func explainNoAnswer(f *Failure, err *connect.Error) bool {
	var certificate *tls.CertificateVerificationError
	switch err.Code() {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded:
		f.Code, f.What, f.Do = ExitUnavailable, "the server does not answer",
			"check --server, and that `weir run` or `weir dev` is running and ready; `weir lag` shows the partitions"
		if errors.As(err, &certificate) {
			f.What, f.Do = "the certificate of the server is not trusted",
				"set --ca-file or api.ca_file to the certificate authority of the server, or to the certificate itself if it is self-signed; the name in --server must be in the certificate"
		}
	case connect.CodeUnimplemented, connect.CodeUnknown, connect.CodeInternal:
		f.Code, f.What, f.Do = ExitUnavailable, "no weir API answers at this address",
			"set --server to the address that `weir run` or `weir dev` prints after \"API\", with https:// if the server has TLS"
	default:
		return false
	}
	return true
}

// distinctLines removes lines of text that repeat an earlier one: a joined error has one line for
// each of several calls, and often all have the same cause.
func distinctLines(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// report prints err and returns its exit code.
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
	why = distinctLines(why)
	fmt.Fprintf(a.Stderr, "%sweir:%s %s\n", label, reset, Printable(f.What))
	if why != "" {
		fmt.Fprintf(a.Stderr, "  why: %s\n", strings.ReplaceAll(strings.TrimSpace(Printable(why)), "\n", "\n       "))
	}
	fmt.Fprintf(a.Stderr, "  do:  %s\n", Printable(f.Do))
	var raw interface{ Raw() string } // the unchanged error text of DynamoDB
	if errors.As(f.err, &raw) && raw.Raw() != "" {
		if c, err := a.LoadConfig(); err == nil && (c.Log.Level == "debug" || c.Log.Level == "trace") {
			fmt.Fprintf(a.Stderr, "  raw: %s\n", Printable(raw.Raw()))
		}
	}
	return f.Code
}
