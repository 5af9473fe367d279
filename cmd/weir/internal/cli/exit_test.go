package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/internal/config"
)

// runWith runs a command whose code is fn.
func runWith(t *testing.T, stdout io.Writer, fn func(*App) error) (code int, stderr string) {
	t.Helper()
	var stderrBuf bytes.Buffer
	a := NewApp(Process{Args: []string{"try"}, Stdout: stdout, Stderr: &stderrBuf})
	root := &cobra.Command{Use: "weir"}
	a.SetUp(root)
	root.AddCommand(&cobra.Command{Use: "try", RunE: func(*cobra.Command, []string) error { return fn(a) }})
	code = a.Execute(t.Context(), root)
	return code, stderrBuf.String()
}

func TestExitCodes(t *testing.T) {
	rpc := func(c connect.Code) error { // an answer of the server
		return fmt.Errorf("request: %w", connect.NewWireError(c, errors.New("the reason")))
	}
	client := func(c connect.Code, err error) error { // no weir process has answered
		return fmt.Errorf("at h:1: %w", connect.NewError(c, err))
	}
	for name, tc := range map[string]struct {
		err  error
		code int
		want string
	}{
		"nothing":      {nil, 0, ""},
		"anything":     {errors.New("boom"), 1, "boom"},
		"typed":        {fmt.Errorf("deep: %w", Fail(ExitLocked, "the state directory is in use", errors.New("by pid 7"), "stop it")), 73, "stop it"},
		"data":         {Fail(ExitData, "a row is bad", errors.New("line 3"), "correct it"), 65, "line 3"},
		"kept kind":    {Fail(0, "cannot ask", rpc(connect.CodePermissionDenied), ""), 77, "cannot ask"},
		"unavailable":  {rpc(connect.CodeUnavailable), 69, "cannot answer now\n  why: the reason"},
		"no answer":    {client(connect.CodeUnavailable, syscall.ECONNREFUSED), 69, "does not answer\n  why: at h:1"},
		"no API":       {client(connect.CodeUnimplemented, errors.New("404 Not Found")), 69, "no weir API answers at this address\n  why: at h:1"},
		"unknown CA":   {client(connect.CodeUnavailable, &tls.CertificateVerificationError{Err: errors.New("unknown")}), 69, "api.ca_file"},
		"not found":    {rpc(connect.CodeNotFound), 1, "not found"},
		"bad request":  {rpc(connect.CodeInvalidArgument), 64, "a flag has the name of its field"},
		"token":        {rpc(connect.CodeUnauthenticated), 77, "api.token_file"},
		"auth":         {rpc(connect.CodeUnauthenticated), 77, "the reason"},
		"server's bug": {rpc(connect.CodeInternal), 70, "the reason"},
		"data loss":    {rpc(connect.CodeDataLoss), 65, "the reason"},
		"precondition": {rpc(connect.CodeFailedPrecondition), 1, "a flag has the name of its field"},
		"dial":         {&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, 69, "connection refused"},
		"listen":       {fmt.Errorf("api: %w", &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRINUSE}), 69, "cannot listen"},
		"name":         {&net.DNSError{Err: "no such host", Name: "x"}, 69, "no such host"},
		"deadline":     {fmt.Errorf("wait: %w", context.DeadlineExceeded), 69, "in time"},
		"interrupted":  {fmt.Errorf("wait: %w", context.Canceled), 130, "interrupted"},
		"disk full":    {fmt.Errorf("write: %w", syscall.ENOSPC), 74, "no space"},
		"file":         {&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}, 74, "/x"},
		"mode":         {&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, 74, "permission"},
		"repeated":     {errors.Join(errors.New("one"), errors.New("two"), errors.New("one")), 1, "why: one\n       two\n  do:"},
		"config":       {&config.Error{Problems: []config.Problem{{What: "one"}, {What: "two"}}}, 78, "one\n       two"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stderr := runWith(t, io.Discard, func(*App) error { return tc.err })
			if code != tc.code || !strings.Contains(stderr, tc.want) || (tc.err != nil) != strings.Contains(stderr, "  do:  ") {
				t.Errorf("code %d, want %d; stderr\n%s", code, tc.code, stderr)
			}
		})
	}
}

func TestAPanicIsABug(t *testing.T) {
	code, stderr := runWith(t, io.Discard, func(*App) error { panic("oh no") })
	for _, w := range []string{"panic: oh no", "exit_test.go", "report it"} {
		if code != 70 || !strings.Contains(stderr, w) {
			t.Errorf("code %d, no %q in\n%s", code, w, stderr)
		}
	}
}

// full is a writer without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputThatCannotBeWritten(t *testing.T) {
	code, stderr := runWith(t, full{}, func(a *App) error { return PrintOne(a, struct{ Name string }{"x"}) })
	if code != 74 || !strings.Contains(stderr, "cannot write the output") {
		t.Errorf("code %d\n%s", code, stderr)
	}
}

func TestServerAddr(t *testing.T) {
	for _, tc := range []struct{ flag, env, want string }{
		{"", "", "127.0.0.1:8080"},
		{"", "h:1", "h:1"},
		{"g:2", "h:1", "g:2"},
		{"https://g:2/", "", "https://g:2"},
		{"ftp://g", "", ""},
		{"http://", "", ""},
	} {
		a := NewApp(Process{Environ: []string{config.EnvServer + "=" + tc.env}})
		a.server = tc.flag
		got, err := a.ServerAddr(config.Default())
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("--server %q, environment %q: %q, %v; want %q", tc.flag, tc.env, got, err, tc.want)
		}
		if err != nil && Explain(err).Code != ExitUsage {
			t.Errorf("--server %q: code %d", tc.flag, Explain(err).Code)
		}
	}
}
