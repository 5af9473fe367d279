package child

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Repository returns the directory of weir's module, in which the programs are built.
func Repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/weirhq/weir").Output()
	if err != nil {
		return "", fmt.Errorf("cannot find weir's repository, run the command in it: %w", err)
	}
	return filepath.Clean(strings.TrimSpace(string(out))), nil
}

// Runner runs programs, with their output in a log.
type Runner struct {
	Log io.Writer
}

// Make runs a build tool in dir.
func (r Runner) Make(ctx context.Context, dir, name string, args ...string) error {
	cmd := r.Command(ctx, name, args...)
	cmd.Dir, cmd.Stdout = dir, r.Log
	return cmd.Run()
}

// Maven builds the Java project in dir, with its tests. what names the project in errors.
func (r Runner) Maven(ctx context.Context, dir, what string) error {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed: %s needs Java 17 and Maven", tool, what)
		}
	}
	if err := r.Make(ctx, dir, "mvn", "-q", "-B", "-Dstyle.color=never", "package"); err != nil {
		return fmt.Errorf("the build of %s failed: %w", what, err)
	}
	return nil
}

// Command returns a command that SIGTERM stops at the end of ctx, with time to delete its topics.
// Its errors are written to the log.
func (r Runner) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = r.Log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 90 * time.Second
	return cmd
}
