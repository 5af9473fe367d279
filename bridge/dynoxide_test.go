package bridge

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/weirhq/weir/internal/dynoxide"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// TestStreamsOfDynoxide runs the bridge on another implementation of DynamoDB, in real time: each
// change comes once and in order, with handlers that are discarded.
func TestStreamsOfDynoxide(t *testing.T) {
	endpoint := dynoxide.Endpoint(t, "read its streams")
	cfg := aws.Config{Region: home, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("a", "a", "")}
	db := dynamodb.NewFromConfig(cfg)
	if _, err := db.CreateTable(t.Context(), table.Create(testTable)); err != nil {
		t.Fatal(err)
	}
	w := &fixture{t: t, cfg: Config{
		Regions: []string{home}, Table: testTable, Partitions: 4, PollMin: 10 * time.Millisecond, PollMax: 50 * time.Millisecond, ListInterval: 200 * time.Millisecond, HeartbeatInterval: -1,
		DB:      func(string) *dynamodb.Client { return db },
		Streams: func(string) *dynamodbstreams.Client { return dynamodbstreams.NewFromConfig(cfg) },
	}}
	h := w.host(home, 1)
	h.aborts = 0.2
	const rows, versions = 10, 8
	want := map[string]int64{}
	for v := range versions {
		for i := range rows {
			name := fmt.Sprintf("r%d", i)
			_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(testTable), Item: map[string]types.AttributeValue{
				table.PK: table.S(lease.ResourceRow("c", name).Partition), table.SK: table.S(name), table.Version: table.N(int64(v + 1)),
				table.WriterRegion: table.S(home), table.Owner: table.S(home), table.PoolID: table.S("p"),
			}})
			if err != nil {
				t.Fatal(err)
			}
			want[name] = int64(v + 1)
			h.turn()
		}
	}
	testlimit.Within(t, "each change is read", func(context.Context) error {
		h.turn()
		if n := len(h.resources()); n < rows*versions {
			return fmt.Errorf("%d of %d", n, rows*versions)
		}
		return nil
	})
	if h.bridge != nil {
		h.end()
	}
	if err := checkChanges(home, h.changes(), want); err != nil {
		t.Error(err)
	}
	if _, scanned := h.known(); scanned == 0 {
		t.Error("no row was scanned")
	}
	t.Logf("%d changes, %d handlers", len(h.resources()), h.opened)
}

// resources returns the versions of resources that the bridge read from the stream.
func (h *host) resources() (list []int64) {
	for _, c := range h.changes() {
		if r := c.GetResource(); r != nil && !c.Scanned {
			list = append(list, r.Version)
		}
	}
	return list
}
