package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
)

// A lease whose key row could not be settled at once is settled later. Before, other regions do not
// see it.
func TestSettledLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := int32(1000)
		for _, name := range []string{"how many requests it takes", "the last one fails"} {
			w := newFixture(t, dynamotest.Profile{}, "eu")
			w.register("eu", 40)
			d := &mortal{}
			d.left.Store(requests)
			a := w.agent("eu", func(c *Config) {
				c.Client = func(region string) *dynamodb.Client { return w.cloud.Region(region).Client(d.options) }
			})
			l := get(t.Context(), t, a, "k", time.Minute)
			synctest.Wait()
			requests -= d.left.Load()
			state := func() lease.State {
				rows, err := w.agent("eu").table.Keys(t.Context(), "eu", lease.KeyPartition("c", "p", "k"))
				if err != nil {
					t.Fatal(err)
				}
				return rows["eu"].State
			}
			if name == "the last one fails" {
				if s := state(); s != lease.Pending {
					t.Fatalf("the key row is %s: it was settled before its last request", s)
				}
				pass(t.Context(), t, 5*time.Second)
				d.left.Store(1000)
				pass(t.Context(), t, maxSettlePause)
				synctest.Wait()
			}
			if s := state(); s != lease.Leased {
				t.Errorf("%s: the key row is %s", name, s)
			}
			if again, err := a.Renew(t.Context(), l, time.Now().Add(2*time.Minute)); err != nil || again.Resource != l.Resource {
				t.Errorf("%s: renewed %+v, %v", name, again, err)
			}
			a.Close()
		}
	})
}
