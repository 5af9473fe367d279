package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/dynamotest"
)

// An agent whose region is down logs a few lines: at the begin of the outage, once a minute, and at
// its end.
func TestRegionDownInFewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 100)
		a := w.agent("eu", func(c *Config) {
			c.SettingsTTL, c.CacheTTL = time.Minute, time.Nanosecond
			c.Log = new(zerolog.New(zerolog.SyncWriter(&lines)).Level(zerolog.WarnLevel))
		})
		defer a.Close()
		use := func(d time.Duration) (failed int) {
			for end := time.Now().Add(d); time.Now().Before(end); {
				if _, err := a.GetLease(t.Context(), "c", "p", "k", time.Now().Add(10*time.Minute)); err != nil {
					failed++
				}
				pass(t.Context(), t, 500*time.Millisecond)
			}
			return failed
		}
		use(2 * time.Minute)
		if lines.Len() > 0 {
			t.Errorf("logged without an outage: %s", lines.String())
		}
		if err := w.cloud.SetFaults(dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1, Region: "eu"}); err != nil {
			t.Fatal(err)
		}
		if n := use(4 * time.Minute); n < 50 {
			t.Errorf("%d calls failed while the region was down", n)
		}
		if err := w.cloud.SetFaults(); err != nil {
			t.Fatal(err)
		}
		use(2 * time.Minute)
		said := map[string]int{}
		for _, line := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
			var e struct {
				Message, Error string
				Failures       int
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			said[e.Message]++
			if strings.Contains(line, "operation error") || e.Error != "" && !strings.HasPrefix(e.Error, "eu: DynamoDB does not answer: ") || e.Message == "region_recovered" && e.Failures < 10 {
				t.Error(line)
			}
		}
		if said["region_failed"] != 1 || said["region_still_failing"] < 1 || said["region_still_failing"] > 4 || said["region_recovered"] != 1 {
			t.Errorf("logged %s", fmt.Sprint(said))
		}
	})
}

// A slog.Handler receives what a zerolog.Logger would.
func TestSlog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 1)
		a := w.agent("eu", func(c *Config) {
			c.SettingsTTL, c.Slog = time.Second, slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelWarn})
		})
		defer a.Close()
		get := func() {
			_, _ = a.GetLease(t.Context(), "c", "p", "k", time.Now().Add(10*time.Minute))
			pass(t.Context(), t, 10*time.Second)
		}
		get()
		if err := w.cloud.SetFaults(dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1, Region: "eu"}); err != nil {
			t.Fatal(err)
		}
		get()
		get()
		if got := lines.String(); !strings.Contains(got, "level=WARN msg=region_") || !strings.Contains(got, "region=eu") {
			t.Errorf("the log is %q", got)
		}
	})
}
