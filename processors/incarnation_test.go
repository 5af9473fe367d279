//go:build synctests

package processors_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
)

// lastMarker returns the last marker in the changelog of the ledger.
func lastMarker(t *testing.T, h *processorstest.Harness) (last *changelogpb.Marker) {
	t.Helper()
	for _, r := range h.Records("log") {
		m, err := changelogpb.DecodeMarker(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		if m != nil {
			last = m
		}
	}
	return last
}

// TestIncarnation: a state has one incarnation under all its owners. A state that begins again
// after its changelog was deleted has the epochs and sequences of the former one, and a greater
// incarnation.
func TestIncarnation(t *testing.T) {
	processorstest.Run(t, unchecked(1), func(t *testing.T, h *processorstest.Harness) {
		began := time.Now().UnixMilli()
		foldThree(h)
		first := lastMarker(t, h)
		if first.Incarnation < uint64(began) || first.Incarnation > uint64(time.Now().UnixMilli()) || first.OwnerEpoch != 1 {
			t.Fatalf("the first state began at %d: %v", began, first)
		}
		h.NewDisk("a") // the next owner restores it from the changelog
		h.Produce("in", 0, "k", "4")
		p := h.Start("a")
		h.WaitFor("the next owner folds", time.Minute, func() bool { return p.Status(0).Next["in"] == 4 })
		p.Stop()
		if m := lastMarker(t, h); m.Incarnation != first.Incarnation || m.OwnerEpoch != 2 {
			t.Fatalf("the next owner has %v, after %v", m, first)
		}
		adm := kadm.NewClient(h.Client())
		_, err := adm.DeleteGroup(context.Background(), ledger.App)
		if err := errors.Join(err, h.Cluster.DeleteTopic("log"), h.Cluster.CreateTopic("log", 1, nil)); err != nil {
			t.Fatal(err)
		}
		h.NewDisk("a")
		p = h.Start("a")
		h.WaitFor("the state begins again", time.Minute, func() bool { return p.Status(0).Next["in"] == 4 })
		p.Stop()
		if m := lastMarker(t, h); m.Incarnation <= first.Incarnation || m.OwnerEpoch != 1 || m.Sequence > 2 {
			t.Fatalf("the state that began again has %v, after %v", m, first)
		}
	})
}
