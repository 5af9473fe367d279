//go:build synctests

package spendcache

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/stream"
)

// pack commits a part of how an account is paced.
func (x *fixture) pack(account string, part int, probability float64) {
	x.Helper()
	m := &eventspb.AccountPack{
		Account: account, Part: int32(part), Campaigns: []*eventspb.PacedNode{{Id: "spring", Probability: probability}},
	}
	value, err := proto.Marshal(m)
	if err != nil {
		x.Fatal(err)
	}
	x.commitPack(account, stream.Message{Key: pacing.AppendPackKey([]byte{pacing.TablePacks}, account, part), Value: value})
}

func (x *fixture) commitPack(account string, m stream.Message) {
	x.Helper()
	cfg := x.config()
	x.kafka.Commit("pacing-eu", cfg.packs(), events.Shard(account, shards), m)
}

// probabilities returns those of the parts of an account.
func (x *fixture) probabilities(account string) (list []float64) {
	x.Helper()
	packs, err := x.cache.Packs(x.Context(), account)
	if err != nil {
		x.Fatal(err)
	}
	for i, m := range packs {
		if m.GetAccount() != account || int(m.GetPart()) != i {
			x.Errorf("pack %d of %s: %v", i, account, m)
		}
		list = append(list, m.GetCampaigns()[0].GetProbability())
	}
	return list
}

// TestPacks: the cache has the newest packs of each account, and no others.
func TestPacks(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.pass(3, all()...)
		x.pack("acme", 0, 0.5)
		x.pack("acme", 1, 0.25)
		x.pack("acme2", 0, 0.75)             // whose name begins alike
		x.commitPack("acme", stream.Message{ // a version of budgets: another table of the changelog
			Key: append([]byte{pacing.TableBudgets}, "acme\x00\x00\x00\x00\x00\x00\x00\x00\x01"...), Value: []byte{1},
		})
		x.ready()
		expect := func(account string, want ...float64) {
			x.Helper()
			x.await(account+" has its packs", func() bool { return slices.Equal(x.probabilities(account), want) })
		}
		expect("acme", 0.5, 0.25)
		expect("acme2", 0.75)
		expect("acm")
		x.pack("acme", 1, 0.125)
		expect("acme", 0.5, 0.125)
		x.commitPack("acme", stream.Message{Key: pacing.AppendPackKey([]byte{pacing.TablePacks}, "acme", 1)})
		expect("acme", 0.5)
		x.commitPack("bad", stream.Message{Key: pacing.AppendPackKey([]byte{pacing.TablePacks}, "bad", 0), Value: []byte{1}})
		x.await("the pack that is not one", func() bool {
			_, err := x.cache.Packs(x.Context(), "bad")
			return err != nil && strings.Contains(err.Error(), "is the topic written by pacing")
		})
		ctx, cancel := context.WithCancel(x.Context())
		cancel()
		if _, err := x.cache.Packs(ctx, "acme"); !errors.Is(err, context.Canceled) {
			x.Errorf("%v", err)
		}
	})
}

// TestPacksUnread: a cache that has not read the topic, and one that does not follow it, say so.
func TestPacksUnread(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.link = x.kafka.Link()
		cache, err := New(x.config())
		if err != nil {
			x.Fatal(err)
		}
		if _, err := cache.Packs(x.Context(), "acme"); !errors.Is(err, ErrNoRows) {
			x.Errorf("%v", err)
		}
		x.adjust = func(c *Config) { c.Pacing = false }
		if cache, err = New(x.config()); err != nil {
			x.Fatal(err)
		}
		if _, err := cache.Packs(x.Context(), "acme"); !errors.Is(err, ErrNoPacing) {
			x.Errorf("%v", err)
		}
	})
}
