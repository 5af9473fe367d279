package pacing

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// takeAlerts returns the alerts that were committed since the last call.
func (x *pacedTask) takeAlerts() (list []string) {
	x.t.Helper()
	for _, c := range x.TakeOutputs() {
		if c.To.Output.Name == signalsOutput {
			continue
		}
		m := &eventspb.BudgetAlert{}
		if err := proto.Unmarshal(c.Value, m); err != nil {
			x.t.Fatal(err)
		}
		if c.To.Output.Topic != events.PacingAlertsTopic || string(c.Key) != m.GetAccount() || m.GetWriterDc() != "eu" || c.To.TimeMs != m.GetAtMs() {
			x.t.Errorf("%+v %v", c, m)
		}
		list = append(list, fmt.Sprint(m.GetAccount(), " ", m.GetPercent()))
	}
	return list
}

// TestAlertsOnce: an alert is committed once, also after transactions that were aborted and after
// crashes.
func TestAlertsOnce(t *testing.T) {
	inBubble(t, []string{"acme"}, func(x *pacedTask) {
		x.run(30)
		x.spend.do(func() { x.spend.units["acme"] = 60 })
		for range 15 {
			x.second()
			x.Abort(time.Now().UnixMilli())
		}
		if got := x.takeAlerts(); len(got) > 0 {
			t.Errorf("alerts %q of aborted transactions", got)
		}
		var got []string
		for range 3 {
			x.run(100)
			x.Crash()
			x.Commit(time.Now().UnixMilli())
			got = append(got, x.takeAlerts()...)
		}
		x.spend.do(func() { x.spend.units["acme"] = 100 })
		x.run(100)
		got = append(got, x.takeAlerts()...)
		if want := []string{"acme 50", "acme 80", "acme 100"}; !slices.Equal(got, want) || x.Count(countAlerts) != 3 {
			t.Errorf("alerts %q, want %q; %g counted", got, want, x.Count(countAlerts))
		}
	})
}
