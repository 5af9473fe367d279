//go:build synctests

package offline

import (
	"context"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
)

// The brokers lose the dead letters of a transaction whose marker and offsets they have. The
// application cannot notice it: it has folded the records. A replay of the range rejects them
// again, so its dead-letter topic has what was lost.
func TestReplayFindsLostDeadLetters(t *testing.T) {
	runLedger(t, 1, func(t *testing.T, w *fixture) {
		w.Produce("in", 0, "k", "1", "bad", "2")
		p := w.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
		w.WaitFor("the records are folded", time.Minute, folded(p, 3))
		p.Stop()
		letters := func(topic string) (origins []string) {
			for _, r := range w.Records(topic) {
				origins = append(origins, string(r.Key))
			}
			return origins
		}
		if got := letters(ledger.App + ".dlq"); len(got) != 1 || got[0] != "in/0/1" {
			t.Fatalf("the dead letters are %q", got)
		}
		w.DeleteRecords(ledger.App+".dlq", 0, 1)
		p = w.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
		w.Produce("in", 0, "k", "3")
		w.WaitFor("one more record is folded", time.Minute, folded(p, 4))
		p.Stop()
		if got := letters(ledger.App + ".dlq"); len(got) != 0 {
			t.Errorf("after a restart the dead letters are %q", got)
		}
		s, ctx := w.replay(w.Disk("a"), ledger.Processor("in"), "again"), context.Background()
		if err := s.Prepare(ctx, ReplayStart{}); err != nil {
			t.Fatal(err)
		}
		to := Positions{}
		to.Set("in", 0, 4)
		if err := s.Run(ctx, to, nil); err != nil {
			t.Fatal(err)
		}
		if got := letters("again." + ledger.App + ".dlq"); len(got) != 1 || got[0] != "in/0/1" {
			t.Errorf("the dead letters of the replay are %q", got)
		}
	})
}
