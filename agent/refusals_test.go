package agent

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Refused keys are counted in the table, each once a minute, by at most one write per second.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		a := w.agent("eu", func(*Config) {})
		defer a.Close()
		refuse := func(key string) {
			t.Helper()
			if _, err := a.GetLease(t.Context(), "c", "p", key, time.Now().Add(time.Minute)); !errors.Is(err, ErrExhausted) {
				t.Fatal(err)
			}
		}
		counted := func(refused, version int64) {
			t.Helper()
			item, err := a.table.Get(t.Context(), "eu", lease.DemandRow("c", "p", "eu"))
			if err != nil {
				t.Fatal(err)
			}
			n, _ := table.Number(item, table.RefusedTotal)
			v, _ := table.Number(item, table.Version)
			if n != refused || v != version || table.Text(item, table.WriterRegion) != "eu" {
				t.Errorf("the row is %v, want %d refused at version %d", item, refused, version)
			}
		}
		refuse("first")
		synctest.Wait()
		counted(1, 1)
		for i := range 50 {
			refuse(fmt.Sprint("k", i))
			refuse("first")
		}
		synctest.Wait()
		counted(1, 1) // the second has not passed
		pass(t.Context(), t, refusalInterval)
		synctest.Wait()
		counted(51, 2)
		pass(t.Context(), t, refusalWindow)
		refuse("first")
		synctest.Wait()
		counted(52, 3)
	})
}
