package dynamotest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// dump returns the whole state of a cloud: the entries of its snapshot.
func dump(t testing.TB, c *Cloud) (lines []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	if err := c.snapshot(func(text []byte) error { lines = append(lines, string(text)); return nil }); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestRestoreOfEveryPrefix: a process can be killed after each byte that it has written. The
// restored state is the state after some write, and contains all answered writes.
func TestRestoreOfEveryPrefix(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	dir := t.TempDir()
	cfg := Config{Clock: clock, Dir: dir, Profile: Profile{Shards: 2, MaxShards: 3, Rollover: 3 * time.Second, RolloverRecords: 3}}
	c, db := open(t, cfg)
	log := filepath.Join(dir, "log.0")
	type moment struct {
		bytes int64 // of the log, after the write was answered
		dump  []string
	}
	now := func() moment {
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		return moment{info.Size(), dump(t, c)}
	}
	moments := []moment{now()}
	create(t, db)
	moments = append(moments, now())
	for i := range 8 {
		key := m{"pk": s(fmt.Sprint(i % 3)), "sk": s("0")}
		switch i % 4 {
		case 3:
			if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("leases"), Key: key}); err != nil {
				t.Fatal(err)
			}
		default:
			key["v"], key["pool"], key["since"] = n(fmt.Sprint(i)), s("p\u2028\"ä"), n("1e-3")
			put(t.Context(), t, db, key)
		}
		moments = append(moments, now())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	cfg.Dir = t.TempDir()
	step := 1
	if testing.Short() {
		step = 17
	}
	for size := 0; size <= len(whole); size += step {
		for at+1 < len(moments) && moments[at+1].bytes <= int64(size) {
			at++
		}
		if err := os.WriteFile(filepath.Join(cfg.Dir, "log.0"), whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := New(cfg)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if now := dump(t, again); !slices.Equal(now, moments[at].dump) {
			t.Fatalf("%d bytes, after write %d: %s", size, at, cmp.Diff(moments[at].dump, now))
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if at != len(moments)-1 && step == 1 {
		t.Fatal("the log lacks the last write")
	}
}

// TestRestoreOfRegions: after a restart, with or without a snapshot before it, each region has all
// its items, and the writes that were in transit arrive in the other regions.
func TestRestoreOfRegions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		profile, steps := hostile(rt), script(rt, 3)
		snapshot := rapid.IntRange(-1, len(steps)-1).Draw(rt, "snapshot")
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			cfg := Config{Regions: []string{"a", "b", "c"}, Profile: profile, Dir: dir}
			c, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			dbs := replicated(t, c)
			for i, x := range steps {
				if err := x.run(t.Context(), dbs[x.region], i); err != nil {
					t.Fatal(err)
				}
				time.Sleep(x.pause) //nolint:forbidigo // in a bubble
				if i == snapshot {
					c.mu.Lock()
					err := c.journal.Compact(c.snapshot)
					c.mu.Unlock()
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			before := settled(dump(t, c))
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if diff := cmp.Diff(before, settled(dump(t, again))); diff != "" {
				t.Fatal(diff)
			}
			time.Sleep(3 * time.Second) //nolint:forbidigo // in a bubble
			want := tableItems(t, client(again.regions[0]), "", true)
			for _, r := range again.regions {
				if diff := cmp.Diff(want, tableItems(t, client(r), "", true)); diff != "" {
					t.Fatal(diff)
				}
				if diff := cmp.Diff(freeOf(want), tableItems(t, client(r), "free", false)); diff != "" {
					t.Fatal(diff)
				}
				checkStream(t, r, want)
			}
		})
	})
}

// settled leaves out what may differ after a restart: the times from which records are visible,
// because all are visible at once, and tombstones that are no longer needed.
func settled(lines []string) (out []string) {
	visible := regexp.MustCompile(`Visible\\":[0-9]+,`)
	for _, line := range lines {
		if !strings.Contains(line, `"kind":"grave"`) {
			out = append(out, visible.ReplaceAllString(line, ""))
		}
	}
	return out
}

func TestRestoreErrors(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Regions: []string{"a", "b"}, Dir: dir}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := client(c.Region("b"))
	create(t, db)
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	db = client(c.Region("b"))
	create(t, db, func(in *dynamodb.CreateTableInput) { in.TableName = aws.String("other") })
	other, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("other")})
	if err != nil || *other.Table.TableId == *describe(t, db).TableId {
		t.Fatal("a table has the id of a table from before the restart", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Regions = []string{"a"}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), `the region "b": Config.Regions must contain it`) {
		t.Fatal(err)
	}
}

// TestJournalFails: if the journal cannot be written, the write fails, and so does every later
// request.
func TestJournalFails(t *testing.T) {
	c, db := open(t, Config{Dir: t.TempDir()})
	create(t, db)
	if err := c.journal.Close(); err != nil {
		t.Fatal(err)
	}
	if name, _ := code(tryPut(t.Context(), db, "a")); name != "InternalServerError" {
		t.Fatal(name)
	}
	_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("leases"), Key: m{"pk": s("a"), "sk": s("0")}})
	if name, _ := code(err); name != "InternalServerError" {
		t.Fatal(err)
	}
	c.journal = nil
}

// replicated creates the table in all regions, and returns a client of each.
func replicated(t *testing.T, c *Cloud) (dbs []*dynamodb.Client) {
	t.Helper()
	for _, r := range c.regions {
		dbs = append(dbs, client(r))
	}
	create(t, dbs[0])
	for _, r := range c.regions[1:] {
		if _, err := dbs[0].UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("leases"), ReplicaUpdates: []types.ReplicationGroupUpdate{
			{Create: &types.CreateReplicationGroupMemberAction{RegionName: &r.name}},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	return dbs
}
