package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// hostile is Hostile without faults, which other tests cover.
func hostile(t *rapid.T) Profile {
	p := Hostile()
	p.Faults, p.TableDelay = nil, 0
	p.Rollover = time.Duration(rapid.IntRange(1, 8).Draw(t, "rollover")) * 400 * time.Millisecond
	p.RolloverRecords = rapid.IntRange(2, 12).Draw(t, "rolloverRecords")
	p.Merge = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "merge")
	return p
}

// script is a random series of writes and pauses.
func script(t *rapid.T, regions int) (steps []step) {
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		steps = append(steps, step{
			region: rapid.IntRange(0, regions-1).Draw(t, "region"),
			key:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
			kind:   rapid.SampledFrom([]string{"put", "put", "free", "same", "one", "delete"}).Draw(t, "kind"),
			pause:  time.Duration(rapid.SampledFrom([]int{0, 0, 1, 50, 700}).Draw(t, "pause")) * time.Millisecond,
		})
	}
	return steps
}

type step struct {
	region int
	key    string
	kind   string
	pause  time.Duration
}

// run carries out step i: "put" writes a new value, "free" a value that the index has, "one" always
// the same value, "same" the present value.
func (x step) run(ctx context.Context, db *dynamodb.Client, i int) error {
	key := m{"pk": s(x.key), "sk": s("0")}
	it := m{"pk": s(x.key), "sk": s("0"), "v": n(strconv.Itoa(i))}
	switch x.kind {
	case "delete":
		_, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String("leases"), Key: key})
		return err
	case "same":
		got, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("leases"), Key: key, ConsistentRead: aws.Bool(true)})
		if err != nil || got.Item == nil {
			return err
		}
		it = got.Item
	case "one":
		it["v"] = n("-1")
	case "free":
		it["pool"], it["since"] = s("p"), n(strconv.Itoa(i%5))
	}
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("leases"), Item: it})
	return err
}

// TestEverythingArrives: every write that lags arrives. Eventually consistent reads, the index and
// all regions have the values of the last writer. In each region the stream has each change of that
// region's table once, and the changes of an item in order, however the shards rolled over.
func TestEverythingArrives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		profile, steps := hostile(rt), script(rt, 3)
		seed := rapid.Uint64().Draw(rt, "seed")
		synctest.Test(t, func(t *testing.T) {
			c, dbs := threeRegions(t, profile, seed)
			for i, x := range steps {
				if err := x.run(t.Context(), dbs[x.region], i); err != nil {
					t.Fatal(err)
				}
				time.Sleep(x.pause) //nolint:forbidigo // in a bubble
			}
			time.Sleep(3 * time.Second) //nolint:forbidigo // in a bubble
			want := tableItems(t, dbs[0], "", true)
			for i, db := range dbs {
				if diff := cmp.Diff(want, tableItems(t, db, "", true)); diff != "" {
					t.Fatalf("region %d differs: %s", i, diff)
				}
				if diff := cmp.Diff(want, tableItems(t, db, "", false)); diff != "" {
					t.Fatalf("eventually consistent reads of region %d differ: %s", i, diff)
				}
				free := map[string]string{}
				for key, it := range tableItems(t, db, "free", false) {
					free[key] = it
				}
				if diff := cmp.Diff(freeOf(want), free); diff != "" {
					t.Fatalf("the index of region %d differs: %s", i, diff)
				}
				checkStream(t, c.regions[i], want)
			}
		})
	})
}

// threeRegions returns a cloud with the table in three regions.
func threeRegions(t *testing.T, p Profile, seed uint64) (*Cloud, []*dynamodb.Client) {
	c, _ := open(t, Config{Regions: []string{"a", "b", "c"}, Profile: p, Seed: seed})
	return c, replicated(t, c)
}

// tableItems returns the items of the table or the index as text, by their keys.
func tableItems(t *testing.T, db *dynamodb.Client, index string, consistent bool) map[string]string {
	t.Helper()
	in := &dynamodb.ScanInput{ConsistentRead: &consistent}
	if index != "" {
		in.IndexName = &index
	}
	out := map[string]string{}
	for _, it := range scanAll(t, db, in) {
		out[it["pk"].(*types.AttributeValueMemberS).Value] = text(it)
	}
	return out
}

// freeOf returns the entries that the index must have for the items.
func freeOf(items map[string]string) map[string]string {
	out := map[string]string{}
	for key, it := range items {
		var v, pk, pool, since, sk string
		if n, _ := fmt.Sscanf(it, "pk=%s pool=%s since=%s sk=%s v=%s", &pk, &pool, &since, &sk, &v); n == 5 {
			out[key] = fmt.Sprintf("pk=%s pool=%s since=%s sk=%s ", pk, pool, since, sk)
		}
	}
	return out
}

// text returns an item of strings and numbers as text.
func text(it m) (out string) {
	var names []string
	for name := range it {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			out += name + "=" + v.Value + " "
		case *types.AttributeValueMemberN:
			out += name + "=" + v.Value + " "
		}
	}
	return out
}

// streamText is text for an item of a stream.
func streamText(it map[string]streamtypes.AttributeValue) string {
	out := m{}
	for name, v := range it {
		switch v := v.(type) {
		case *streamtypes.AttributeValueMemberS:
			out[name] = s(v.Value)
		case *streamtypes.AttributeValueMemberN:
			out[name] = n(v.Value)
		}
	}
	return text(out)
}

// checkStream reads the whole stream, parents before children. It fails the test unless the records
// of each item form a chain from no item to the item in the table: each record begins with the
// image with which the previous one ended, and changes it.
func checkStream(t *testing.T, r *Region, want map[string]string) {
	t.Helper()
	now, seen := map[string]string{}, map[string]bool{}
	for _, rec := range readStream(t, r) {
		key := rec.Dynamodb.Keys["pk"].(*streamtypes.AttributeValueMemberS).Value
		from, to := streamText(rec.Dynamodb.OldImage), streamText(rec.Dynamodb.NewImage)
		event := "MODIFY"
		if from == "" {
			event = "INSERT"
		}
		if to == "" {
			event = "REMOVE"
		}
		if from != now[key] || from == to || seen[*rec.EventID] || string(rec.EventName) != event {
			t.Fatalf("%s: %s of %s from %q to %q, but the item was %q", r.name, rec.EventName, key, from, to, now[key])
		}
		now[key], seen[*rec.EventID] = to, true
	}
	for key, it := range now {
		if it != want[key] {
			t.Fatalf("%s: the stream of %s ends with %q, the table has %q", r.name, key, it, want[key])
		}
	}
	for key := range want {
		if now[key] == "" {
			t.Fatalf("%s: the stream has no record of %s", r.name, key)
		}
	}
}

// readStream returns the records of the region's only stream, those of parents before those of
// children.
func readStream(t *testing.T, r *Region) (all []streamtypes.Record) {
	t.Helper()
	ctx, api := t.Context(), r.StreamsClient()
	streams, err := api.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: aws.String("leases")})
	if err != nil || len(streams.Streams) != 1 {
		t.Fatal(streams, err)
	}
	var shards []streamtypes.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: streams.Streams[0].StreamArn, Limit: aws.Int32(10)}
	for {
		out, err := api.DescribeStream(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		shards = append(shards, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			break
		}
	}
	done := map[string]bool{}
	for len(done) < len(shards) {
		before := len(done)
		for _, sh := range shards {
			if !done[*sh.ShardId] && (sh.ParentShardId == nil || done[*sh.ParentShardId]) {
				all = append(all, readShard(t, api, in.StreamArn, sh)...)
				done[*sh.ShardId] = true
			}
		}
		if len(done) == before {
			t.Fatal("the parent of a shard does not exist")
		}
	}
	return all
}

func readShard(t *testing.T, api *dynamodbstreams.Client, arn *string, sh streamtypes.Shard) (all []streamtypes.Record) {
	t.Helper()
	it, err := api.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: sh.ShardId, ShardIteratorType: "TRIM_HORIZON"})
	if err != nil {
		t.Fatal(err)
	}
	for next := it.ShardIterator; next != nil; {
		out, err := api.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next, Limit: aws.Int32(2)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out.Records...)
		if next = out.NextShardIterator; len(out.Records) == 0 && sh.SequenceNumberRange.EndingSequenceNumber == nil {
			break
		}
	}
	return all
}

// TestReadersNeverGoBack: during writes, a reader that lags sees only values that the item has had,
// and never an older value after a newer one. The readers are the index, eventually consistent
// reads, and other regions, which may skip values.
func TestReadersNeverGoBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		profile := hostile(rt)
		pauses := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 20, 150, 600}), 5, 40).Draw(rt, "pauses")
		synctest.Test(t, func(t *testing.T) {
			_, dbs := threeRegions(t, profile, 5)
			last, late := map[string]int{}, 0
			for i, pause := range pauses {
				// One region writes: of writes in several regions the last one wins, and an earlier
				// one may be visible before.
				put(t.Context(), t, dbs[0], m{"pk": s("a"), "sk": s("0"), "pool": s("p"), "since": n(strconv.Itoa(i))})
				time.Sleep(time.Duration(pause) * time.Millisecond) //nolint:forbidigo // in a bubble
				for region, db := range dbs {
					for _, x := range []struct {
						index      string
						consistent bool
					}{{"", true}, {"", false}, {"free", false}} {
						var seen int
						if n, _ := fmt.Sscanf(tableItems(t, db, x.index, x.consistent)["a"], "pk=a pool=p since=%d", &seen); n == 0 {
							seen = -1
						}
						who := fmt.Sprint(region, x)
						if before, ok := last[who]; ok && seen < before || seen > i {
							t.Fatalf("%s sees write %d after write %d of %d", who, seen, before, i)
						}
						if region == 0 && x.consistent && seen != i {
							t.Fatalf("a consistent read sees write %d of %d", seen, i)
						}
						if last[who] = seen; seen < i {
							late++
						}
					}
				}
			}
			if late == 0 {
				t.Fatal("no reader lagged")
			}
		})
	})
}
