package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/dynamotest"
)

// An agent that is asked all the time while its region is down says so in few lines: at the begin, once a minute, at the end.
func TestRegionDownInFewLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 100)
		a := w.agent("eu", func(c *Config) {
			c.SettingsTTL, c.CacheTTL, c.Logger = time.Minute, time.Nanosecond, zerolog.New(zerolog.SyncWriter(&lines)).Level(zerolog.WarnLevel)
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
			t.Errorf("said while all is well: %s", lines.String())
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
			t.Errorf("said %s", fmt.Sprint(said))
		}
	})
}
