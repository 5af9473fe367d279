package dynamotest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// streamed returns a cloud on a clock that stands still, with the table and its stream.
func streamed(t *testing.T, p Profile) (*Cloud, *ManualClock, *dynamodb.Client, *dynamodbstreams.Client, *string) {
	t.Helper()
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	c, db := open(t, Config{Clock: clock, Profile: p})
	create(t, db)
	out, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("leases")})
	if err != nil {
		t.Fatal(err)
	}
	return c, clock, db, c.regions[0].StreamsClient(), out.Table.LatestStreamArn
}

func shards(t *testing.T, api *dynamodbstreams.Client, in *dynamodbstreams.DescribeStreamInput) []streamtypes.Shard {
	t.Helper()
	out, err := api.DescribeStream(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out.StreamDescription.Shards
}

func iteratorAt(t *testing.T, api *dynamodbstreams.Client, in dynamodbstreams.GetShardIteratorInput) (*string, error) {
	t.Helper()
	out, err := api.GetShardIterator(t.Context(), &in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// values returns the values of v in the records after the iterator.
func values(t *testing.T, api *dynamodbstreams.Client, next *string) (out string, end bool) {
	t.Helper()
	got, err := api.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got.Records {
		out += r.Dynamodb.NewImage["v"].(*streamtypes.AttributeValueMemberN).Value
	}
	return out, got.NextShardIterator == nil
}

func TestIterators(t *testing.T) {
	_, clock, db, api, arn := streamed(t, Profile{RolloverRecords: 4})
	write := func(v int) {
		put(t.Context(), t, db, m{"pk": s("a"), "sk": s("0"), "v": n(fmt.Sprint(v))})
	}
	shard := shards(t, api, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})[0].ShardId
	write(1)
	write(2)
	place := func(kind streamtypes.ShardIteratorType, seq *string) *string {
		t.Helper()
		it, err := iteratorAt(t, api, dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: shard, ShardIteratorType: kind, SequenceNumber: seq})
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	latest := place("LATEST", nil)
	first, err := api.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: place("TRIM_HORIZON", nil), Limit: aws.Int32(1)})
	if err != nil || len(first.Records) != 1 {
		t.Fatal(first, err)
	}
	seq := first.Records[0].Dynamodb.SequenceNumber
	write(3)
	for name, x := range map[string]struct {
		it   *string
		want string
	}{
		"trim horizon": {place("TRIM_HORIZON", nil), "123"}, "latest": {latest, "3"}, "at": {place("AT_SEQUENCE_NUMBER", seq), "123"},
		"after": {place("AFTER_SEQUENCE_NUMBER", seq), "23"}, "next": {first.NextShardIterator, "23"},
	} {
		if got, end := values(t, api, x.it); got != x.want || end {
			t.Errorf("%s: %s, end %t", name, got, end)
		}
	}
	write(4) // the shard closes
	write(5)
	if got, end := values(t, api, latest); got != "34" || !end {
		t.Error(got, end)
	}
	children := shards(t, api, &dynamodbstreams.DescribeStreamInput{StreamArn: arn, ShardFilter: &streamtypes.ShardFilter{Type: "CHILD_SHARDS", ShardId: shard}})
	if len(children) != 1 || *children[0].ParentShardId != *shard {
		t.Fatal(children)
	}
	clock.Advance(15*time.Minute + time.Second)
	_, err = api.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: latest})
	if name, _ := code(err); name != "ExpiredIteratorException" {
		t.Error(err)
	}
	for bad, want := range map[string]string{"x": "ValidationException", *latest + "x": "ValidationException"} {
		if _, err = api.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &bad}); err == nil {
			t.Error(bad)
		} else if name, _ := code(err); name != want {
			t.Error(err)
		}
	}
	for in, want := range map[dynamodbstreams.GetShardIteratorInput]string{
		{StreamArn: arn, ShardId: shard, ShardIteratorType: "AT_SEQUENCE_NUMBER", SequenceNumber: children[0].SequenceNumberRange.StartingSequenceNumber}: "ValidationException",
		{StreamArn: arn, ShardId: shard, ShardIteratorType: "AT_SEQUENCE_NUMBER"}:                                                                         "ValidationException",
		{StreamArn: arn, ShardId: aws.String("shardId-00000000000000000000-00000000"), ShardIteratorType: "LATEST"}:                                       "ResourceNotFoundException",
		{StreamArn: aws.String(*arn + "0"), ShardId: shard, ShardIteratorType: "LATEST"}:                                                                  "ResourceNotFoundException",
	} {
		if _, err := iteratorAt(t, api, in); err == nil {
			t.Error(want, "wanted, none came")
		} else if name, _ := code(err); name != want {
			t.Error(err)
		}
	}
}

func TestStreamIsTrimmedAfterADay(t *testing.T) {
	_, clock, db, api, arn := streamed(t, Profile{})
	shard := shards(t, api, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})[0].ShardId
	write := func(v int) {
		put(t.Context(), t, db, m{"pk": s("a"), "sk": s("0"), "v": n(fmt.Sprint(v))})
	}
	write(1)
	in := dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: shard, ShardIteratorType: "TRIM_HORIZON"}
	it, err := iteratorAt(t, api, in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(24*time.Hour - time.Minute)
	write(2)
	if it, err = iteratorAt(t, api, in); err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * time.Minute)
	_, err = api.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
	if name, _ := code(err); name != "TrimmedDataAccessException" {
		t.Error(err)
	}
	after := in
	after.ShardIteratorType, after.SequenceNumber = "AFTER_SEQUENCE_NUMBER", got.Records[0].Dynamodb.SequenceNumber
	if _, err := iteratorAt(t, api, after); err == nil {
		t.Error("GetShardIterator returned an iterator after a trimmed record")
	} else if name, _ := code(err); name != "TrimmedDataAccessException" {
		t.Error(err)
	}
	if it, err = iteratorAt(t, api, in); err != nil {
		t.Fatal(err)
	}
	if got, end := values(t, api, it); got != "2" || end {
		t.Error(got, end)
	}
}

// TestStreamsComeAndGo: a disabled stream can be read for a day, beside the stream that is enabled
// next. The view type decides which images a record has.
func TestStreamsComeAndGo(t *testing.T) {
	_, clock, db, api, arn := streamed(t, Profile{})
	update := func(spec types.StreamSpecification) error {
		_, err := db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("leases"), StreamSpecification: &spec})
		return err
	}
	on := types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: "KEYS_ONLY"}
	if name, text := code(update(on)); name != "ValidationException" || text != "Table already has an enabled stream: TableName: leases" {
		t.Fatal(name, text)
	}
	put(t.Context(), t, db, m{"pk": s("a"), "sk": s("0"), "v": n("1")})
	for _, spec := range []types.StreamSpecification{{StreamEnabled: aws.Bool(false)}, on} {
		if err := update(spec); err != nil {
			t.Fatal(err)
		}
	}
	put(t.Context(), t, db, m{"pk": s("a"), "sk": s("0"), "v": n("2")})
	list := func() []streamtypes.Stream {
		out, err := api.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{})
		if err != nil {
			t.Fatal(err)
		}
		return out.Streams
	}
	if streams := list(); len(streams) != 2 {
		t.Fatal(streams)
	} else {
		sh := shards(t, api, &dynamodbstreams.DescribeStreamInput{StreamArn: streams[1].StreamArn})[0]
		it, _ := iteratorAt(t, api, dynamodbstreams.GetShardIteratorInput{StreamArn: streams[1].StreamArn, ShardId: sh.ShardId, ShardIteratorType: "TRIM_HORIZON"})
		got, err := api.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: it})
		if err != nil || len(got.Records) != 1 || got.Records[0].Dynamodb.NewImage != nil || len(got.Records[0].Dynamodb.Keys) != 2 {
			t.Fatal(got, err)
		}
	}
	old, err := api.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	if err != nil || old.StreamDescription.StreamStatus != "DISABLED" {
		t.Fatal(old, err)
	}
	sh := old.StreamDescription.Shards[0]
	it, err := iteratorAt(t, api, dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: sh.ShardId, ShardIteratorType: "TRIM_HORIZON"})
	if err != nil {
		t.Fatal(err)
	}
	if got, end := values(t, api, it); got != "1" || !end {
		t.Error(got, end)
	}
	if _, err := db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("leases")}); err != nil {
		t.Fatal(err)
	}
	if n := len(list()); n != 2 {
		t.Error(n)
	}
	clock.Advance(25 * time.Hour)
	if n := len(list()); n != 0 {
		t.Error(n)
	}
}

// TestStreamRetention: a record can be read for Profile.StreamRetention. A stream keeps it over a
// restart.
func TestStreamRetention(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	cfg := Config{Clock: clock, Dir: t.TempDir(), Profile: Profile{StreamRetention: time.Hour}}
	read := func(c *Cloud) string {
		t.Helper()
		api := c.Region("eu-west-1").StreamsClient()
		list, err := api.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{})
		if err != nil || len(list.Streams) != 1 {
			t.Fatal(list, err)
		}
		arn := list.Streams[0].StreamArn
		sh := shards(t, api, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})[0]
		it, err := iteratorAt(t, api, dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: sh.ShardId, ShardIteratorType: "TRIM_HORIZON"})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := values(t, api, it)
		return got
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := c.Region("eu-west-1").Client()
	create(t, db, func(in *dynamodb.CreateTableInput) {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: "NEW_IMAGE"}
	})
	for i := range 3 { // at 0, 25 and 50 minutes
		put(t.Context(), t, db, m{"pk": s("a"), "sk": s(fmt.Sprint(i)), "v": n(fmt.Sprint(i))})
		clock.Advance(25 * time.Minute)
	}
	if got := read(c); got != "12" {
		t.Errorf("after 75 minutes it has the records %s", got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Profile.StreamRetention = 0 // of new streams
	if c, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := read(c); got != "12" {
		t.Errorf("after a restart it has the records %s", got)
	}
	clock.Advance(30 * time.Minute)
	if got := read(c); got != "2" {
		t.Errorf("after 105 minutes it has the records %s", got)
	}
	if _, err := New(Config{Profile: Profile{StreamRetention: -time.Second}}); err == nil || !strings.Contains(err.Error(), "Profile.StreamRetention is -1s") {
		t.Errorf("a negative retention: %v", err)
	}
}

// TestStreamLags: a stream shows a write after its lag, and a write of another region after it has
// arrived.
func TestStreamLags(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	c, err := New(Config{Regions: []string{"a", "b"}, Clock: clock, Profile: Profile{StreamLag: Span{time.Second, time.Second}, ReplicationLag: Span{time.Minute, time.Minute}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dbs := replicated(t, c)
	put(t.Context(), t, dbs[0], m{"pk": s("a"), "sk": s("0")})
	for _, x := range []struct {
		pause time.Duration
		a, b  int
	}{{0, 0, 0}, {time.Second, 1, 0}, {time.Minute, 1, 1}} {
		clock.Advance(x.pause)
		if a, b := len(readStream(t, c.regions[0])), len(readStream(t, c.regions[1])); a != x.a || b != x.b {
			t.Fatalf("after %s: %d and %d records, wanted %d and %d", x.pause, a, b, x.a, x.b)
		}
	}
	if at := readStream(t, c.regions[1])[0].Dynamodb.ApproximateCreationDateTime.Unix(); at != 1_800_000_060 {
		t.Fatalf("the write arrived at %d, not when it was due", at)
	}
}

// TestRecordsAreBounded: an answer of GetRecords ends after 1 MB, and the next one continues there.
func TestRecordsAreBounded(t *testing.T) {
	_, _, db, api, arn := streamed(t, Profile{RolloverRecords: 9})
	for i := range 9 {
		put(t.Context(), t, db, m{"pk": s(fmt.Sprint(i)), "sk": s("0"), "x": s(strings.Repeat("x", 300_000))})
	}
	shard := shards(t, api, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})[0].ShardId
	next, err := iteratorAt(t, api, dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: shard, ShardIteratorType: "TRIM_HORIZON"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for next != nil {
		out, err := api.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Records) > 4 {
			t.Fatalf("%d records in one answer", len(out.Records))
		}
		for _, r := range out.Records {
			got = append(got, r.Dynamodb.Keys["pk"].(*streamtypes.AttributeValueMemberS).Value)
		}
		next = out.NextShardIterator
	}
	if fmt.Sprint(got) != "[0 1 2 3 4 5 6 7 8]" {
		t.Fatal(got)
	}
}
