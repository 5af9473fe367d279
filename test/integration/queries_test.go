package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/testlimit"
)

// TestQueries sends queries for all partitions to each of two processes that share them, through
// the commands, and compares the answers with a recount. Then it kills one process and repeats the
// queries until the other one owns all partitions.
func TestQueries(t *testing.T) {
	c := shared(t)
	l := startLoad(c, 11, 10_000, 50_000)
	const setting = "processor: {standbys: 1, session_timeout: 30m}" // a process that is silent stays in the group
	a, b := newInstance(c, "a", setting).start(), newInstance(c, "b", setting).start()
	addrA, _ := a.ready()
	addrB, _ := b.ready()
	for addr, p := range map[string]*process{addrA: a, addrB: b} {
		p.folds(addr, 12)
	}
	ledger := l.finish()
	places := ledger.places()
	ask := func(at place, addr string) error {
		r := weir(t, "spend", "show", "--campaign", at.campaign, "--wait", "-o", "json", "--server", addr)
		if r.code != 0 {
			return errors.New(r.stderr)
		}
		return sameSpend(r.stdout, ledger, at)
	}
	for i := 0; i < len(places); i += len(places)/20 + 1 {
		for _, addr := range []string{addrA, addrB} {
			if err := ask(places[i], addr); err != nil {
				t.Errorf("%v at %s: %v", places[i], addr, err)
			}
		}
	}
	before := stateOf(t, addrA)
	if other := stateOf(t, addrB); len(before) != len(ledger.totals)+24 || !maps.Equal(before, other) {
		t.Errorf("a has %d rows and hashes, b has %d; they differ, or are not %d", len(before), len(other), len(ledger.totals)+24)
	}

	// A restarted process has another port, and the group learns it although no partition moves.
	b.kill()
	b = b.instance.start()
	addrB, _ = b.ready()
	b.folds(addrB, 12)
	if after := stateOf(t, addrA); !maps.Equal(before, after) {
		t.Errorf("%d rows and hashes before a restart, %d after: they differ", len(before), len(after))
	}

	standby, seen := 0, map[int32]bool{} // answers of standbys
	// A stopped process neither answers nor leaves the group: its partitions are read from
	// standbys, by clients that allow it.
	b.signal(syscall.SIGSTOP)
	for _, at := range places {
		p := events.Shard(at.account, events.DefaultShards)
		if seen[p] { // one campaign of each partition
			continue
		}
		seen[p] = true
		r := weir(t, "spend", "show", "--campaign", at.campaign, "--account", at.account, "--max-staleness", "1h", "-o", "json", "--server", addrA)
		if r.code != 0 {
			t.Errorf("%v of a stopped process: %s", at, r.stderr)
		} else if err := sameSpend(r.stdout, ledger, at); err != nil {
			t.Errorf("%v of a stopped process: %v", at, err)
		}
		if strings.Contains(r.stdout, `"role":"standby"`) {
			standby++
		}
	}
	if b.signal(syscall.SIGCONT); standby != 12 {
		t.Errorf("campaigns of %d partitions were read from a standby, want those of all 12 partitions of the stopped process", standby)
	}
	b.folds(addrB, 12)

	killed := time.Now()
	b.kill()
	moved := 0
	for _, at := range places { // campaigns of b are unavailable while it is in the group, and the error names the owner
		r := weir(t, "spend", "show", "--campaign", at.campaign, "-o", "json", "--server", addrA)
		if r.code == 69 {
			moved++
			if !strings.Contains(r.stderr, b.name) || !strings.Contains(r.stderr, "cannot answer: dial") {
				t.Errorf("%v: the error does not name the owner:\n%s", at, r.stderr)
			}
		}
		if moved > 0 {
			break
		}
	}
	if moved == 0 {
		t.Error("no query failed although half of the partitions had lost their owner")
	}
	c.expel(b)
	testlimit.Within(t, "the other process owns all partitions", func(context.Context) error {
		a.alive()
		return ask(places[len(places)/2], addrA)
	})
	t.Logf("after kill -9 of its owner a campaign without an account was answered after %s", time.Since(killed))
	for i := 0; i < len(places); i += len(places)/20 + 1 {
		if err := ask(places[i], addrA); err != nil {
			t.Errorf("%v after the kill: %v", places[i], err)
		}
	}
	if after := stateOf(t, addrA); !maps.Equal(before, after) {
		t.Errorf("%d rows and hashes before the kill, %d after: they differ", len(before), len(after))
	}
}

// sameSpend compares an output of `weir spend show` with the recount.
func sameSpend(answer string, l *ledger, at place) error {
	var s spend
	if err := json.Unmarshal([]byte(answer), &s); err != nil {
		return err
	}
	want := l.campaign(at.campaign, s.Account)
	got := account{micros: s.Charged, duplicates: s.Duplicates, byType: map[eventspb.EventType]uint64{}}
	if s.Impressions > 0 {
		got.byType[eventspb.EventType_EVENT_TYPE_IMPRESSION] = s.Impressions
	}
	if s.Clicks > 0 {
		got.byType[eventspb.EventType_EVENT_TYPE_CLICK] = s.Clicks
	}
	if got.String() != want.String() {
		return fmt.Errorf("%v, want %v", &got, &want)
	}
	return nil
}

// stateOf returns table spend of all partitions: the rows of `weir state scan`, and a hash of each
// partition.
func stateOf(t *testing.T, addr string) map[string]string {
	t.Helper()
	out := map[string]string{}
	var rows struct {
		Entries []struct {
			Partition int32           `json:"partition"`
			Key       string          `json:"key"`
			Value     json.RawMessage `json:"value"`
		} `json:"entries"`
	}
	answer(t, &rows, "state", "scan", "--table", "spend", "--limit", "1000000", "--server", addr)
	for _, r := range rows.Entries {
		out[fmt.Sprint(r.Partition, " ", r.Key)] = string(r.Value)
	}
	var hashes struct {
		Partitions []struct {
			Partition int32 `json:"partition"`
			Tables    []struct {
				Name string `json:"name"`
				Hash string `json:"sha256"`
			} `json:"tables"`
		} `json:"partitions"`
	}
	answer(t, &hashes, "state", "hash", "--server", addr)
	for _, p := range hashes.Partitions {
		for _, x := range p.Tables {
			if x.Name == "spend" {
				out[fmt.Sprint("hash of ", p.Partition)] = x.Hash
			}
		}
	}
	return out
}
