package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/spendcounter"
)

// compared is the result of `weir replay` for one table of one partition.
type compared struct {
	Partition  int32  `json:"partition"`
	Table      int    `json:"table"`
	Equal      bool   `json:"equal"`
	LiveKeys   int64  `json:"live_keys"`
	ReplayHash string `json:"replay_hash"`
}

// corrected is the result of `weir replay --promote` for one table of one partition.
type corrected struct {
	Partition int32 `json:"partition"`
	Table     int   `json:"table"`
	Put       int64 `json:"put"`
	Deleted   int64 `json:"deleted"`
}

// replay runs `weir replay`, which must exit with code, and decodes its output.
func replay[R any](t *testing.T, i *instance, code int, args ...string) (rows []R) {
	t.Helper()
	args = append([]string{"replay", "-f", i.config, "-o", "json"}, args...)
	r := weir(t, args...)
	if r.code != code {
		t.Fatalf("weir %s: code %d, want %d\n%s", strings.Join(args, " "), r.code, code, r.stderr)
	}
	if r.stdout != "" {
		if err := json.Unmarshal([]byte(r.stdout), &rows); err != nil {
			t.Fatalf("weir %s: %v in\n%s", strings.Join(args, " "), err, r.stdout)
		}
	}
	return rows
}

// foreign returns the topics and groups that do not belong to the live counter.
func (c *cluster) foreign() (names []string) {
	c.t.Helper()
	topics, err := c.adm.ListTopics(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	groups, err := c.adm.ListGroups(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	live := []string{spendcounter.App}
	for _, topic := range c.topics() {
		live = append(live, topic.Name)
	}
	for _, name := range append(topics.Names(), groups.Groups()...) {
		if !slices.Contains(live, name) {
			names = append(names, name)
		}
	}
	return names
}

// written returns the end offsets of the topics that the counter writes.
func (c *cluster) written() map[string]int64 {
	c.t.Helper()
	ends, err := c.adm.ListEndOffsets(c.t.Context(), c.topics()[2].Name)
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]int64{}
	ends.Each(func(o kadm.ListedOffset) { out[fmt.Sprint(o.Topic, "/", o.Partition)] = o.Offset })
	return out
}

// TestReplay replays while the live counter runs: from a savepoint and from the beginning, up to
// the positions of the live state, with equal hashes.
func TestReplay(t *testing.T) {
	c := shared(t)
	f := follow(c)
	in := newInstance(c, "a")
	p := in.start()
	addr, _ := p.ready()
	l := startLoad(c, 11, 10_000, 100_000)
	f.allSpend() // without it, a partition has its task record alone, or is in no savepoint
	pass(t, 2*time.Second)
	var sp struct {
		Partitions int
		Keys       int64
	}
	answer(t, &sp, "savepoint", "create", "monday", "-f", in.config, "--server", addr)
	if sp.Partitions != 24 || sp.Keys == 0 {
		t.Errorf("the savepoint holds %+v", sp)
	}
	pass(t, 2*time.Second)
	for _, from := range []string{"savepoint:monday", "beginning"} {
		app := "again-" + from[:3]
		rows := replay[compared](t, in, 0, "--app", app, "--from", from, "--server", addr)
		var keys int64
		for _, r := range rows {
			if keys += r.LiveKeys; !r.Equal || r.ReplayHash == "" {
				t.Errorf("from %s: %+v", from, r)
			}
		}
		if len(rows) != 5*24 || keys < sp.Keys { // campaign days, task record, index, rankings, totals
			t.Errorf("from %s: %d tables with %d keys were compared", from, len(rows), keys)
		}
	}
	if r := weir(t, "replay", "-f", in.config, "--app", "again-not", "--server", "127.0.0.1:1"); r.code != 69 {
		t.Errorf("a replay without a server: code %d\n%s", r.code, r.stderr)
	}
	f.check(c, l.finish(), 0)
	if r := weir(t, "replay", "-f", in.config, "--app", "again-beg", "--promote", "--yes"); r.code != 1 || !strings.Contains(r.stderr, "has members") {
		t.Errorf("promotion while the counter runs: code %d\n%s", r.code, r.stderr)
	}
	for _, app := range []string{"again-sav", "again-beg"} {
		replay[compared](t, in, 0, "--app", app, "--drop")
	}
	if left := c.foreign(); len(left) > 0 {
		t.Errorf("topics and groups that were not removed: %v", left)
	}
	var list []struct{ Name string }
	answer(t, &list, "savepoint", "list", "-f", in.config)
	if len(list) != 1 || list[0].Name != "monday" {
		t.Errorf("savepoints: %v", list)
	}
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestCorrection runs a counter that forgets event ids at once and therefore charges duplicates. A
// replay with the right setting finds the difference, and its promotion corrects the state, first
// of one account. The counter then continues exactly.
func TestCorrection(t *testing.T) {
	c := shared(t)
	f := follow(c)
	wrong := newInstance(c, "a", "spend: {duplicate_window: 1ms}")
	p := wrong.start()
	p.ready()
	l := startLoad(c, 12, 10_000, 50_000)
	pass(t, 4*time.Second)
	ledger := l.finish()
	f.caughtUp(c)
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	got, _ := f.totals()
	differing, account := f.differing(ledger)
	if len(differing) < 2 {
		t.Fatalf("%d accounts were counted wrong: nothing to correct in %d rows", len(differing), len(got))
	}

	// The correct counter has the same directory and name, and another setting.
	text, err := os.ReadFile(wrong.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(wrong.config, []byte(strings.ReplaceAll(string(text), "duplicate_window: 1ms", "duplicate_window: 1h")), 0o600); err != nil {
		t.Fatal(err)
	}
	unequal := 0
	for _, r := range replay[compared](t, wrong, 1, "--app", "fixed") {
		if !r.Equal {
			unequal++
		}
	}
	if unequal == 0 {
		t.Error("the replay reports a difference and shows none")
	}
	var rows int64
	for _, r := range replay[corrected](t, wrong, 0, "--app", "fixed", "--promote", "--only-account", account) {
		rows += r.Put
	}
	if rows < 2 { // a campaign day and the task record
		t.Errorf("the correction of account %s puts %d keys", account, rows)
	}
	replay[corrected](t, wrong, 0, "--app", "fixed", "--promote", "--only-account", account, "--yes")
	if again := replay[corrected](t, wrong, 0, "--app", "fixed", "--promote", "--only-account", account, "--yes"); len(again) != 0 {
		t.Errorf("the second correction of account %s changes %+v", account, again)
	}
	testlimit.Within(t, "readers see the correction of account "+account+" alone", func(context.Context) error {
		if left, _ := f.differing(ledger); left[account] || len(left) != len(differing)-1 {
			return fmt.Errorf("of %d accounts %d are wrong", len(differing), len(left))
		}
		return nil
	})
	replay[corrected](t, wrong, 0, "--app", "fixed", "--promote", "--yes")
	before := c.written()
	if again := replay[corrected](t, wrong, 0, "--app", "fixed", "--promote", "--yes"); len(again) != 0 {
		t.Errorf("the second promotion changes %+v", again)
	}
	for topic, end := range c.written() {
		if end != before[topic]+2 { // a barrier and the end of its transaction
			t.Errorf("a promotion of nothing moved %s from %d to %d", topic, before[topic], end)
		}
	}
	testlimit.Within(t, "readers see the promotion", func(context.Context) error {
		if left, _ := f.differing(ledger); len(left) > 0 {
			return fmt.Errorf("%d accounts are wrong", len(left))
		}
		return nil
	})

	again := wrong.start()
	addr, _ := again.ready()
	more := startLoad(c, 13, 10_000, 20_000)
	all := more.finish()
	for at, a := range all.totals {
		if was := ledger.totals[at]; was != nil {
			a.micros, a.duplicates = a.micros+was.micros, a.duplicates+was.duplicates
			for typ, n := range was.byType {
				a.byType[typ] += n
			}
		}
	}
	for at, a := range ledger.totals {
		if all.totals[at] == nil {
			all.totals[at] = a
		}
	}
	f.check(c, all, 0)
	replay[compared](t, wrong, 0, "--app", "fixed", "--server", addr) // the replay equals the live state now
	replay[compared](t, wrong, 0, "--app", "fixed", "--drop")
}

// differing returns the accounts with a row that differs from the recount, and one of them.
func (f *follower) differing(l *ledger) (accounts map[string]bool, one string) {
	got, _ := f.totals()
	accounts = map[string]bool{}
	for at, want := range l.totals {
		a := got[at]
		if a == nil || a.micros != want.micros || a.duplicates != want.duplicates || !maps.Equal(a.byType, want.byType) {
			accounts[at.account], one = true, at.account
		}
	}
	return accounts, one
}
