package api

import (
	"context"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
)

// committingPager is a partition with two pages. Each of its first commits comes between the two.
type committingPager struct {
	commits int
	reads   int // of first pages
	next    int64
}

func (p *committingPager) Page(_ context.Context, q PageQuery) (*Page, error) {
	page := &Page{AsOf: &weirpb.AsOf{Partition: q.Partition, ChangelogNext: p.next}}
	if string(q.From) == "k" {
		page.Entries, page.More = []Entry{{Key: []byte("k1")}}, true
		if p.reads++; p.reads <= p.commits {
			p.next++
		}
		return page, nil
	}
	page.Entries = []Entry{{Key: []byte("k2")}}
	return page, nil
}

// TestSnapshotReaderReadsAgain: all pages are of one snapshot, and so is the reader's AsOf. A
// partition with a commit in each attempt is an error.
func TestSnapshotReaderReadsAgain(t *testing.T) {
	for commits, want := range map[int]string{0: "", 1: "", 9: "", 10: "partition 3: in each of 10 attempts a commit came"} {
		p := &committingPager{commits: commits}
		r := &snapshotReader{state: p, partition: 3}
		got, err := r.untilOneSnapshot(func() ([]Entry, error) { return r.all(t.Context(), 1, []byte("k")) })
		if want != "" {
			if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), want) {
				t.Errorf("%d commits: %v, not %q", commits, err, want)
			}
			continue
		}
		if err != nil || len(got) != 2 || p.reads != commits+1 || r.asOf.GetChangelogNext() != int64(commits) {
			t.Errorf("%d commits: %q as of %v, %v, after %d reads", commits, got, r.asOf, err, p.reads)
		}
	}
}
