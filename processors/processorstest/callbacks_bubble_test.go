//go:build synctests

package processorstest_test

import (
	"testing"

	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// TestCallbacksSurviveKills: a processor of functions with codecs, named tables and kinds of timers
// is exact when it is killed at every failpoint. Run folds its inputs again and compares.
func TestCallbacksSurviveKills(t *testing.T) {
	const report stream.TimerKind = "report"
	sums := state.Named(1, "sums", state.String{}, state.Decimal{})
	out := stream.NewTypedOutput("sums", state.JSON[map[string]int64]{})
	p := stream.Processor{
		App: "sums", Outputs: stream.OutputTopics("sums"), Tables: state.Tables(sums),
		On: []stream.Callback{
			stream.On("numbers", state.Decimal{}, func(c *stream.Context, r *stream.Record, n int64) error {
				sum, _, err := sums.Get(c, string(r.Key))
				if err != nil {
					return err
				}
				sums.Put(c, string(r.Key), sum+n)
				report.Set(c, stream.Timer{AtMs: r.TimeMs, Key: r.Key})
				return nil
			}),
			stream.OnTimer(report, func(c *stream.Context, x stream.Timer) error {
				sum, _, err := sums.Get(c, string(x.Key))
				if err != nil {
					return err
				}
				out.Emit(c, stream.Message{Key: x.Key}, map[string]int64{"sum": sum})
				return nil
			}),
		},
	}
	processorstest.Run(t, processorstest.Options{Processor: p}, func(t *testing.T, h *processorstest.Harness) {
		proc := h.Start("a")
		for _, failpoint := range processorstest.Failpoints() {
			h.CaughtUp()
			proc.KillAt(failpoint)
			for partition := range int32(4) {
				h.Produce("numbers", partition, "k", "1", "many", "2")
			}
			if err := proc.Await(); err != processorstest.ErrKilled {
				t.Fatalf("the process was not killed at %q: %v", failpoint, err)
			}
			proc = h.Start("a")
		}
		h.CaughtUp()
		want := int64(3 * len(processorstest.Failpoints()))
		for partition := range int32(4) {
			sum, err := state.Decimal{}.Decode(h.State(partition, sums.Number())["k"])
			if err != nil || sum != want {
				t.Errorf("the sum of partition %d is %d, %v, want %d", partition, sum, err, want)
			}
		}
	})
}
