package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/weirhq/weir/bench/peers/child"
)

// program is how a copier is started, each time in the same way.
type program struct {
	name      string
	args, env []string
	log       string // file to which its output is appended
}

// process is a running program.
type process struct {
	program
	cmd   *exec.Cmd
	ended chan struct{}
}

// start starts the program.
func (p program) start() (*process, error) {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	r := &process{program: p, ended: make(chan struct{})}
	r.cmd = exec.Command(p.name, p.args...) //nolint:noctx // stop and kill end it
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = p.env, log, log
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(p.name), err)
	}
	go func() {
		_ = r.cmd.Wait() // ProcessState has the result
		close(r.ended)
	}()
	return r, nil
}

// alive returns an error with the end of its output if the process has ended.
func (r *process) alive() error {
	select {
	case <-r.ended:
		return fmt.Errorf("%s ended by itself, %s:\n%s", filepath.Base(r.name), r.cmd.ProcessState, r.tail())
	default:
		return nil
	}
}

// kill ends the process with SIGKILL and returns its greatest resident memory in bytes.
func (r *process) kill() (peak int64) {
	_ = r.cmd.Process.Kill() // an error means that it has ended
	<-r.ended
	return child.Peak(r.cmd.ProcessState)
}

// stopLimit is how long a process may take to end after SIGTERM.
const stopLimit = time.Minute

// stop ends the process with SIGTERM, and with SIGKILL after stopLimit. It returns the greatest
// resident memory in bytes.
func (r *process) stop() (peak int64) {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return r.kill()
	}
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-r.ended:
	case <-limit.C:
	}
	return r.kill()
}

// tail returns the last lines of the output.
func (r *process) tail() string {
	const lines = 30
	text, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	all := bytes.SplitAfter(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], nil))
}
