package dev

import (
	"regexp"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// TestDevJobs: weir dev runs jobs, and shows an alarm that names the resource that breaks.
func TestDevJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	want := []string{
		`^fault: jobs of queue demo that need disk fail$`,
		`^alarm: queue demo: outage of resource disk: \d+ of \d+ failed, \d+ of \d+ without it \(\d+\.\d s after the fault\)$`,
		`^fault: disk works again$`,
		`^alarm: queue demo: over: outage of resource disk: `,
	}
	var lines []string
	text := devOutput(t, 2*time.Minute, "--rate", "0", "--fault", "jobs=disk@3s+3s")
	for len(want) > 0 && text.Scan() {
		lines = append(lines, text.Text())
		if regexp.MustCompile(want[0]).MatchString(text.Text()) {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		t.Fatalf("no line %s in %q: %v", want[0], lines, text.Err())
	}
}

func TestJobFaults(t *testing.T) {
	for text, want := range map[string]fault{
		"jobs":              {faultJobs, "gpu", time.Minute, 0},
		"jobs=cpu":          {faultJobs, "cpu", time.Minute, 0},
		"jobs=model:1@2s":   {faultJobs, "model:1", 2 * time.Second, 0},
		"jobs=gpu@1m+30s":   {faultJobs, "gpu", time.Minute, 30 * time.Second},
		"region@1s":         {faultRegion, "b", time.Second, 0},
		"duplicate=a@1s+2s": {faultDuplicate, "a", time.Second, 2 * time.Second},
	} {
		if f, err := parseFault(text, []string{"a", "b"}); err != nil || f != want {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
	}
	for _, text := range []string{"jobs=@1s", "jobs=gpu@x", "jobs=tpu", "job=gpu", "region=c"} {
		if f, err := parseFault(text, []string{"a", "b"}); err == nil {
			t.Errorf("%s: %+v", text, f)
		}
	}
	if r := clitest.Run(t, Commands, nil, "dev", "--no-load", "--fault", "jobs=gpu"); r.Code != cli.ExitUsage {
		t.Errorf("a fault of jobs without load: %+v", r)
	}
}
