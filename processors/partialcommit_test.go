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
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/processorstest"
)

// TestPartialCommit: brokers commit a part of a transaction, as a broker without replicas does when
// it restarts. So the store, the changelog and the group's offsets disagree. The changelog wins.
func TestPartialCommit(t *testing.T) {
	const ours = changelogpb.CommitMetadataPrefix + "7/7/7"
	for name, k := range map[string]partialCommit{
		"changelog and group lost it":                  {store: 5, shift: 1},
		"changelog lost it, group was deleted":         {store: 5, shift: 1, deleteGroup: true},
		"changelog lost it":                            {store: 5, shift: 1, group: 5, metadata: ours},
		"changelog lost it and has another one":        {store: 5, group: 5, metadata: ours},
		"changelog lost it before the store had it":    {group: 5, metadata: ours},
		"group lost it":                                {group: 2, metadata: ours},
		"group lost it, and the store did not have it": {group: 2, metadata: ours, newDisk: true},
	} {
		t.Run(name, func(t *testing.T) { k.run(t) })
	}
}

// partialCommit is what is left after three records were folded.
type partialCommit struct {
	store       int64 // the offset of the store; 0: the true one
	shift       int64 // how far behind the last marker of the changelog the store claims its own to be
	newDisk     bool  // the store is lost
	group       int64 // the group's offset; 0: the true one
	metadata    string
	deleteGroup bool
}

func (k partialCommit) run(t *testing.T) {
	processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
		foldThree(h)
		if k.store > 0 {
			k.changeStore(t, h)
		}
		if k.newDisk {
			h.NewDisk("a")
		}
		adm := kadm.NewClient(h.Client())
		if k.group > 0 {
			var at kadm.Offsets
			at.Add(kadm.Offset{Topic: "in", At: k.group, LeaderEpoch: -1, Metadata: k.metadata})
			if err := adm.CommitAllOffsets(context.Background(), ledger.App, at); err != nil {
				t.Fatal(err)
			}
		}
		if k.deleteGroup {
			if _, err := adm.DeleteGroup(context.Background(), ledger.App); err != nil {
				t.Fatal(err)
			}
		}
		h.Produce("in", 0, "k", "4", "5", "6")
		p := h.Start("a")
		h.WaitFor("the rest is folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 6 })
		if sum := sumInStore(t, p, 0, "k"); sum != 21 {
			t.Errorf("the sum of 1 to 6 is %d", sum)
		}
		p.Stop()
		if n := len(h.Records("out")); n != 6 {
			t.Errorf("%d outputs of 6 inputs", n)
		}
		got, err := adm.FetchOffsets(context.Background(), ledger.App)
		if o, _ := got.Lookup("in", 0); err != nil || o.At != 6 {
			t.Errorf("the group's offset is %d, %v", o.At, err)
		}
	})
}

// changeStore adds a transaction to the store of process "a" that the changelog does not have.
func (k partialCommit) changeStore(t *testing.T, h *processorstest.Harness) {
	t.Helper()
	s := openStore(t, h.Disk("a"))
	meta, err := s.Meta(s.DB, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := s.DB.NewBatch()
	meta.Marker.Inputs[0].Next, meta.Marker.Sequence = k.store, meta.Marker.Sequence+1
	meta.ChangelogNext += k.shift
	err = errors.Join(b.Set(store.Key(0, ledger.Table, []byte("k")), []byte("12345678"), nil), store.PutMeta(b, 0, meta), b.Commit(nil), s.Close())
	if err != nil {
		t.Fatal(err)
	}
}
