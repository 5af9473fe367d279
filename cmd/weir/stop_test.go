package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/internal/testlimit"
)

// TestStopIsLogged: the last event of a process that was stopped is how long its stop took.
func TestStopIsLogged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	env := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_DATA_DIR=" + t.TempDir(), "WEIR_API_LISTEN=127.0.0.1:0", "WEIR_API_OPS_LISTEN=127.0.0.1:0"}
	broker, _ := counterBroker(t, env)
	for _, args := range [][]string{{"run", "--brokers", strings.Join(broker.Brokers, ",")}, {"dev", "--no-load"}} {
		t.Run(args[0], func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), testlimit.Limit)
			defer stop()
			out := &clitest.Buffer{}
			ended := make(chan int, 1)
			go func() {
				ended <- run(ctx, cli.Process{Args: args, Environ: env, Stdin: strings.NewReader(""), Stdout: out, Stderr: out})
			}()
			for !strings.Contains(out.String(), "ready") && len(ended) == 0 && pause.Poll(ctx) {
				continue
			}
			if text := out.String(); !strings.Contains(text, "ready") || strings.Contains(text, "process_stopped") {
				t.Errorf("before the stop: %s", text)
			}
			stop()
			code := <-ended
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if code != cli.ExitOK {
				t.Errorf("code %d", code)
			}
			if last := regexp.MustCompile(`"took_ms":[0-9.]+,.*"process_stopped"`); !last.MatchString(lines[len(lines)-1]) || strings.Count(out.String(), "process_stopped") != 1 {
				t.Errorf("code %d, and no event about the stop at the end of\n%s", code, out)
			}
		})
	}
}
