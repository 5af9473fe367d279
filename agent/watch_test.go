package agent

import (
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

func quick(c *Config) { c.CacheTTL, c.Skew = 20*time.Millisecond, 100*time.Millisecond }

func TestWatch(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(t *testing.T, w *fixture, a *Agent, l Lease)
		want error
	}{
		{"released", func(t *testing.T, _ *fixture, a *Agent, l Lease) {
			if err := a.Release(t.Context(), l); err != nil {
				t.Error(err)
			}
		}, ErrReleased},
		{"superseded", func(t *testing.T, w *fixture, a *Agent, l Lease) {
			rows, err := a.table.Keys(t.Context(), "eu", lease.KeyPartition("c", "p", "k"))
			if err != nil {
				t.Fatal(err)
			}
			write := lease.Write{Rule: &a.rules.Supersede, Args: lease.Row{Version: rows["eu"].Version, State: lease.Superseded, Winner: "us"}}
			p := lease.PrimaryKey{Partition: lease.KeyPartition("c", "p", "k"), Sort: "eu"}
			if _, ok, err := a.table.Write(t.Context(), "eu", p, &write, table.Item{}); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}, ErrSuperseded},
		{"at its end", func(*testing.T, *fixture, *Agent, Lease) {}, ErrEnded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, dynamotest.Profile{}, "eu")
			w.register("eu", 1)
			a, other := w.agent("eu", quick), w.agent("eu", quick)
			l := get(t.Context(), t, a, "k", time.Second)
			a.running.Wait() // the key row is settled
			lost := a.Watch(t.Context(), l)
			c.lose(t, w, other, get(t.Context(), t, other, "k", time.Second))
			if err := <-lost; !errors.Is(err, c.want) {
				t.Errorf("lost by %v, want %v", err, c.want)
			}
			if time.Now().After(l.Expires) {
				t.Error("reported after the lease's end")
			}
		})
	}
}

func TestHeadroom(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	w.register("eu", 7)
	a := w.agent("eu")
	get(t.Context(), t, a, "k", time.Minute)
	for _, c := range []struct {
		name string
		row  *eventspb.LeaseHeadroom
		want int // free
		said bool
	}{
		{"counted", nil, 6, false},
		{"said long ago", &eventspb.LeaseHeadroom{AsOfMs: time.Now().Add(-2 * maxHeadroomAge).UnixMilli(), Free: 50}, 6, false},
		{"said", &eventspb.LeaseHeadroom{AsOfMs: time.Now().UnixMilli(), Free: 50, Need: 7, HorizonMs: 600_000}, 50, true},
	} {
		if c.row != nil {
			c.row.Client, c.row.Pool, c.row.Region = "c", "p", "eu"
			w.put("eu", table.HeadroomItem(c.row))
		}
		h, err := a.Headroom(t.Context(), "c", "p")
		if err != nil || h.Free != c.want || h.AtLeast || h.Region != "eu" || (h.Forecast != nil) != c.said {
			t.Errorf("%s: %+v, %v; want %d free", c.name, h, err, c.want)
		}
		if c.said && (h.Forecast.Need != 7 || h.Forecast.Horizon != 10*time.Minute) {
			t.Errorf("%s: %+v", c.name, h.Forecast)
		}
	}
}
