package dynamotest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// TestPagesHaveEachItemOnce: whatever the sizes of pages and the order of reading, each item of a
// table or an index is on exactly one page.
func TestPagesHaveEachItemOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, err := New(Config{})
		if err != nil {
			rt.Fatal(err)
		}
		defer c.Close()
		db := client(c.regions[0])
		create(t, db)
		want, free := map[string]bool{}, map[string]bool{}
		for i := range rapid.IntRange(0, 40).Draw(rt, "items") {
			it := m{"pk": s(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "pk")), "sk": s(fmt.Sprint(i))}
			if rapid.IntRange(0, 9).Draw(rt, "large") == 0 {
				it["x"] = s(strings.Repeat("x", 300_000))
			}
			if rapid.Bool().Draw(rt, "free") {
				it["pool"], it["since"] = s("p"), n(fmt.Sprint(i%3))
				free[fmt.Sprint(i)] = true
			}
			put(t.Context(), t, db, it)
			want[fmt.Sprint(i)] = true
		}
		var limit *int32
		if n := rapid.Int32Range(0, 7).Draw(rt, "limit"); n > 0 {
			limit = &n
		}
		total := rapid.Int32Range(1, 5).Draw(rt, "segments")
		var scanned []m
		for segment := range total {
			scanned = append(scanned, scanAll(t, db, &dynamodb.ScanInput{Limit: limit, Segment: &segment, TotalSegments: &total})...)
		}
		exactly(rt, "scan", scanned, want)
		exactly(rt, "scan of the index", scanAll(t, db, &dynamodb.ScanInput{Limit: limit, IndexName: aws.String("free")}), free)
		forward := rapid.Bool().Draw(rt, "forward")
		var queried []m
		for _, pk := range []string{"a", "b", "c", "d"} {
			found := queryAll(t, db, &dynamodb.QueryInput{
				KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: m{":p": s(pk)}, Limit: limit, ScanIndexForward: &forward,
			})
			for i := 1; i < len(found); i++ {
				if (found[i-1]["sk"].(*types.AttributeValueMemberS).Value < found[i]["sk"].(*types.AttributeValueMemberS).Value) != forward {
					rt.Fatalf("%v before %v", found[i-1]["sk"], found[i]["sk"])
				}
			}
			queried = append(queried, found...)
		}
		exactly(rt, "queries", queried, want)
		exactly(rt, "query of the index", queryAll(t, db, &dynamodb.QueryInput{
			IndexName: aws.String("free"), KeyConditionExpression: aws.String("#p = :p"), ExpressionAttributeNames: map[string]string{"#p": "pool"},
			ExpressionAttributeValues: m{":p": s("p")}, Limit: limit, ScanIndexForward: &forward,
		}), free)
	})
}

func exactly(t *rapid.T, what string, items []m, want map[string]bool) {
	t.Helper()
	got := map[string]bool{}
	for _, it := range items {
		sk := it["sk"].(*types.AttributeValueMemberS).Value
		if got[sk] || !want[sk] {
			t.Fatalf("%s: %s is not wanted or is there twice", what, sk)
		}
		got[sk] = true
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d of %d items", what, len(got), len(want))
	}
}

// scanAll reads all pages of a scan.
func scanAll(t testing.TB, db *dynamodb.Client, in *dynamodb.ScanInput) []m {
	t.Helper()
	in.TableName = aws.String("leases")
	return readPages(t, in.Limit, func(start m) ([]m, m, error) {
		in.ExclusiveStartKey = start
		out, err := db.Scan(t.Context(), in)
		if err != nil {
			return nil, nil, err
		}
		return out.Items, out.LastEvaluatedKey, nil
	})
}

// queryAll reads all pages of a query.
func queryAll(t testing.TB, db *dynamodb.Client, in *dynamodb.QueryInput) []m {
	t.Helper()
	in.TableName = aws.String("leases")
	return readPages(t, in.Limit, func(start m) ([]m, m, error) {
		in.ExclusiveStartKey = start
		out, err := db.Query(t.Context(), in)
		if err != nil {
			return nil, nil, err
		}
		return out.Items, out.LastEvaluatedKey, nil
	})
}

// readPages reads pages until one has no last key, and returns their items. read returns the page
// after the key start, and the page's last key.
func readPages(t testing.TB, limit *int32, read func(start m) (items []m, last m, err error)) (all []m) {
	t.Helper()
	var start m
	for {
		items, last, err := read(start)
		if err != nil {
			t.Fatal(err)
		}
		checkPage(t, items, limit)
		all = append(all, items...)
		if start = last; start == nil {
			return all
		}
	}
}

// checkPage fails the test if a page has more items than limit, or more than 1 MB.
func checkPage(t testing.TB, items []m, limit *int32) {
	t.Helper()
	bytes := 0
	for _, it := range items {
		if x, ok := it["x"].(*types.AttributeValueMemberS); ok {
			bytes += len(x.Value)
		}
	}
	if bytes > pageBytes || limit != nil && len(items) > int(*limit) {
		t.Fatalf("a page of %d items and %d bytes", len(items), bytes)
	}
}

// TestFilterIsAfterLimit: Limit counts the items read, not those that pass the filter, and a page
// can be empty without being the last.
func TestFilterIsAfterLimit(t *testing.T) {
	_, db := open(t, Config{})
	create(t, db)
	for i := range 5 {
		put(t.Context(), t, db, m{"pk": s("a"), "sk": s(fmt.Sprint(i)), "v": n(fmt.Sprint(i))})
	}
	in := &dynamodb.QueryInput{
		TableName: aws.String("leases"), KeyConditionExpression: aws.String("pk = :p"), FilterExpression: aws.String("v > :v"),
		ExpressionAttributeValues: m{":p": s("a"), ":v": n("3")}, Limit: aws.Int32(2),
	}
	var counts, scanned []int32
	for {
		out, err := db.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		counts, scanned = append(counts, out.Count), append(scanned, out.ScannedCount)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	if fmt.Sprint(counts, scanned) != "[0 0 1] [2 2 1]" {
		t.Fatal(counts, scanned)
	}
}
