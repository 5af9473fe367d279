package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// numbered returns INSERTs of the items first to last-1.
func numbered(first, last int) (out []types.BatchStatementRequest) {
	for i := first; i < last; i++ {
		out = append(out, statement(byParams, s(fmt.Sprint(i)), s("0"), n("1")))
	}
	return out
}

// TestFaultsOfStatements: faults apply to single statements and to requests.
func TestFaultsOfStatements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := open(t, Config{})
		create(t, db)
		faults(t, c, Fault{Kind: Throttle, Rate: 0.5, Operation: "BatchExecuteStatement", Table: "leases"})
		ends, _ := insertAll(t, db, numbered(0, 25)...)
		seen := map[string]int{}
		for i, end := range ends {
			seen[end]++
			if has(t, c, db, fmt.Sprint(i)) != (end == "ok") {
				t.Errorf("item %d: %s", i, end)
			}
		}
		if seen["ok"] == 0 || seen["ThrottlingError"] == 0 || seen["ProvisionedThroughputExceeded"] == 0 || len(seen) != 3 {
			t.Error(seen)
		}
		faults(t, c, Fault{Kind: Throttle, Rate: 1})
		if ends, _ := insertAll(t, db, numbered(25, 27)...); strings.Contains(fmt.Sprint(ends), "ok") || has(t, c, db, "25") {
			t.Error(ends)
		}
		faults(t, c, Fault{Kind: ServerError, Rate: 1, Table: "leases"})
		ends, _ = insertAll(t, db, numbered(30, 55)...)
		found := map[bool]int{}
		for i, end := range ends {
			found[has(t, c, db, fmt.Sprint(30+i))]++
			if end != "InternalServerError" {
				t.Error(end)
			}
		}
		if found[true] == 0 || found[false] == 0 {
			t.Error(found)
		}
		insert := func(i int) error {
			_, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: numbered(i, i+1)})
			return err
		}
		faults(t, c, Fault{Kind: ServerError, Rate: 1})
		if name, _ := code(insert(60)); name != "InternalServerError" {
			t.Error(name)
		}
		faults(t, c, Fault{Kind: LostAnswer, Rate: 1})
		if err := insert(61); err == nil || !has(t, c, db, "61") {
			t.Error("want the answer lost and the items inserted", err)
		}
		faults(t, c, Fault{Kind: Slow, Rate: 1, Delay: Span{time.Minute, time.Minute}})
		if start := time.Now(); insert(62) != nil || time.Since(start) != time.Minute {
			t.Error(time.Since(start))
		}
	})
}

// importer inserts items until it knows for each whether the table has it.
type importer struct {
	db    *dynamodb.Client
	value string
	ends  map[string]string // "ok" or "DuplicateItem", by the items' keys
	doubt map[string]bool   // items with an attempt that got no answer
}

func (im *importer) run(ctx context.Context, keys []string, batch int) error {
	for tries := 0; len(keys) > 0; tries++ {
		if tries > 10_000 {
			return fmt.Errorf("%d items cannot be inserted", len(keys))
		}
		now := keys[:min(batch, len(keys))]
		in := &dynamodb.BatchExecuteStatementInput{}
		for _, key := range now {
			in.Statements = append(in.Statements, statement(`INSERT INTO "leases" VALUE {'pk': ?, 'sk': '0', 'v': ?, 'pool': 'p', 'since': 7}`, s(key), n(im.value)))
		}
		out, err := im.db.BatchExecuteStatement(ctx, in)
		if err != nil {
			for _, key := range now {
				im.doubt[key] = true
			}
			continue
		}
		var again []string
		for i, r := range out.Responses {
			switch key := now[i]; {
			case r.Error == nil:
				im.ends[key] = "ok"
			case r.Error.Code == types.BatchStatementErrorCodeEnumDuplicateItem:
				im.ends[key] = "DuplicateItem"
			case r.Error.Code == types.BatchStatementErrorCodeEnumInternalServerError:
				im.doubt[key] = true
				again = append(again, key)
			case r.Error.Code == types.BatchStatementErrorCodeEnumThrottlingError, r.Error.Code == types.BatchStatementErrorCodeEnumProvisionedThroughputExceeded:
				again = append(again, key)
			default:
				return fmt.Errorf("%s: %s", r.Error.Code, *r.Error.Message)
			}
		}
		keys = slices.Concat(keys[len(now):], again) // the keys not tried yet
	}
	return nil
}

// check fails the test unless the items are those that the answers to the importer imply.
func (im *importer) check(t *testing.T, items map[string]string) {
	t.Helper()
	for key, end := range im.ends {
		mine := strings.Contains(items[key], "v="+im.value+" ")
		switch {
		case items[key] == "":
			t.Errorf("%s of %s ended with %s, but the table does not have it", key, im.value, end)
		case end == "ok" && !mine:
			t.Errorf("%s of %s was inserted, but another item replaced it: %s", key, im.value, items[key])
		case end == "DuplicateItem" && mine && !im.doubt[key]:
			t.Errorf("%s of %s was reported as a duplicate of itself", key, im.value)
		}
	}
}

// TestImportUnderFaults: importers that retry under faults, until each item is inserted or a
// duplicate, lose no item and overwrite none, neither in the table nor in the index, the stream or
// another region.
func TestImportUnderFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		profile := hostile(rt)
		rate := func(name string) float64 { return float64(rapid.IntRange(0, 4).Draw(rt, name)) / 10 }
		unfair := []Fault{
			{Kind: Throttle, Rate: rate("throttle")},
			{Kind: ServerError, Rate: rate("serverError")},
			{Kind: LostAnswer, Rate: rate("lost")},
			{Kind: Unreachable, Rate: rate("unreachable") / 2},
			{Kind: ServerError, Rate: rate("statement"), Table: "leases"},
			{Kind: Slow, Rate: rate("slow"), Delay: Span{0, time.Second}},
		}
		count, old := rapid.IntRange(1, 60).Draw(rt, "items"), rapid.IntRange(0, 5).Draw(rt, "old")
		batches := rapid.SliceOfN(rapid.IntRange(1, 25), 1, 3).Draw(rt, "batches")
		seed := rapid.Uint64().Draw(rt, "seed")
		synctest.Test(t, func(t *testing.T) {
			c, _ := open(t, Config{Regions: []string{"a", "b"}, Profile: profile, Seed: seed})
			dbs := replicated(t, c)
			keys, want := []string{}, map[string]string{}
			for i := range count {
				keys = append(keys, fmt.Sprint("item", i))
			}
			for _, key := range keys[:min(old, count)] {
				it := m{"pk": s(key), "sk": s("0"), "v": n("-1")}
				put(t.Context(), t, dbs[0], it)
				want[key] = text(it)
			}
			faults(t, c, unfair...)
			var importers []*importer
			var running sync.WaitGroup
			for i, batch := range batches {
				im := &importer{db: dbs[0], value: fmt.Sprint(i), ends: map[string]string{}, doubt: map[string]bool{}}
				importers = append(importers, im)
				running.Go(func() {
					if err := im.run(t.Context(), keys, batch); err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			faults(t, c)
			if err := c.Settle(); err != nil {
				t.Fatal(err)
			}
			items := tableItems(t, dbs[0], "", true)
			for _, im := range importers {
				im.check(t, items)
			}
			for key, it := range want {
				if items[key] != it {
					t.Errorf("an import replaced %s: %s", key, items[key])
				}
			}
			if diff := cmp.Diff(items, tableItems(t, dbs[1], "", true)); len(items) != count || diff != "" {
				t.Errorf("%d items of %d; the other region differs: %s", len(items), count, diff)
			}
			if diff := cmp.Diff(freeOf(items), tableItems(t, dbs[0], "free", false)); diff != "" {
				t.Errorf("the index differs: %s", diff)
			}
			checkInserts(t, c, items)
		})
	})
}

// checkInserts fails the test unless the stream of each region has each item once.
func checkInserts(t *testing.T, c *Cloud, items map[string]string) {
	t.Helper()
	if err := c.clock.Sleep(t.Context(), 3*time.Second); err != nil { // until the records are visible
		t.Fatal(err)
	}
	for _, r := range c.regions {
		checkStream(t, r, items)
		if records := readStream(t, r); len(records) != len(items) {
			t.Errorf("%s: %d records of %d items", r.name, len(records), len(items))
		}
	}
}

// TestInsertsAreKept: inserted items exist after a restart.
func TestInsertsAreKept(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), Clock: NewManualClock(time.Unix(1_800_000_000, 0))}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := client(c.regions[0])
	create(t, db)
	insertAll(t, db, append(numbered(0, 20), statement(byParams, s("list"), s("0"), &types.AttributeValueMemberL{Value: []types.AttributeValue{s("a"), n("1")}}))...)
	before := dump(t, c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again, db := open(t, cfg)
	if diff := cmp.Diff(before, dump(t, again)); diff != "" {
		t.Fatal(diff)
	}
	if ends, _ := insertAll(t, db, numbered(19, 21)...); fmt.Sprint(ends) != "[DuplicateItem ok]" {
		t.Fatal(ends)
	}
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("leases"), Key: m{"pk": s("list"), "sk": s("0")}})
	if err != nil || len(out.Item) != 3 {
		t.Fatal(out, err)
	}
}
