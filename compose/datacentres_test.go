package compose

import (
	"fmt"
	"os"
	"testing"
)

// TestDatacentres starts three datacentres. While the Kafka of one hangs, the others count.
// Afterwards it has what it missed, and the audit finds no difference.
func TestDatacentres(t *testing.T) {
	if os.Getenv("WEIR_TEST_SOAK") == "" {
		t.Skip("takes four minutes; WEIR_TEST_SOAK=1 runs it")
	}
	p := newProject(t, "datacentres.yaml")
	p.must("up", "-d", "--wait", "--wait-timeout", "300")
	counted := func(want uint64, services ...string) {
		t.Helper()
		for _, service := range services {
			p.within(fmt.Sprintf("%s has %d events", service, want), func() error {
				var got struct{ Events uint64 }
				err := p.ask(&got, service, "spend", "show", "--campaign", "spring", "--wait") // from the counter itself
				if err == nil && got.Events != want {
					err = fmt.Errorf("it has %d", got.Events)
				}
				return err
			})
		}
	}
	p.ingest("weir-eu", "e1")
	counted(1, "weir-eu", "weir-us", "weir-ap")
	p.must("pause", "kafka-us")
	p.ingest("weir-ap", "e2")
	counted(2, "weir-eu", "weir-ap")
	p.must("unpause", "kafka-us")
	counted(2, "weir-us")
	p.within("an audit of all datacentres", func() error {
		var rows []struct{ Minutes, Events int }
		if err := p.ask(&rows, "weir-eu", "spend", "audit"); err != nil {
			return err
		}
		for _, r := range rows {
			if r.Events == 0 {
				return fmt.Errorf("%+v", rows)
			}
		}
		if len(rows) != 9 {
			return fmt.Errorf("%d rows", len(rows))
		}
		t.Logf("audit: %+v", rows)
		return nil
	})
	p.sane("weir-eu", "weir-us", "weir-ap")
}
