package agent

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// fixture is a cloud with the table in all its regions, and one pool of one client.
type fixture struct {
	t     testing.TB
	cloud *dynamotest.Cloud
}

const testTable = "leases"

func newFixture(t testing.TB, profile dynamotest.Profile, regions ...string) *fixture {
	t.Helper()
	cloud, err := dynamotest.New(dynamotest.Config{Regions: regions, Profile: quiet(profile)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cloud.Close() })
	w := &fixture{t, cloud}
	db := cloud.Region(regions[0]).Client()
	if _, err = db.CreateTable(t.Context(), table.Create(testTable)); err != nil {
		t.Fatal(err)
	}
	for _, region := range regions[1:] {
		if _, err = db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String(testTable), ReplicaUpdates: []types.ReplicationGroupUpdate{
			{Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String(region)}},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	client := table.PrimaryKey(lease.ClientRow("c"))
	client[table.Version] = table.N(1)
	w.put(regions[0], client)
	for _, region := range regions {
		row := table.PrimaryKey(lease.RegionRow(region))
		row[table.Version] = table.N(1)
		w.put(regions[0], row)
	}
	pool := table.Pool{Client: "c", Name: "p", Version: 1, LongestLease: time.Hour, Quarantine: 2 * time.Second, Buckets: 4}
	w.put(regions[0], pool.Item())
	cloud.Settle()
	cloud.SetFaults(profile.Faults...)
	return w
}

// quiet returns a profile without faults. They are set when the table exists.
func quiet(p dynamotest.Profile) dynamotest.Profile {
	p.Faults, p.TableDelay = nil, 0
	return p
}

func (w *fixture) put(region string, item table.Item) {
	w.t.Helper()
	if _, err := w.cloud.Region(region).Client().PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: aws.String(testTable), Item: item}); err != nil {
		w.t.Fatal(err)
	}
}

// register adds n available resources of a region, named region-r0, region-r1 and so on.
func (w *fixture) register(region string, n int) {
	w.t.Helper()
	for i := range n {
		name := fmt.Sprintf("%s-r%d", region, i)
		item := table.PrimaryKey(lease.ResourceRow("c", name))
		item[table.Version], item[table.Owner], item[table.PoolID] = table.N(1), table.S(region), table.S("p")
		item[table.AvailableMs], item[table.Bucket] = table.N(int64(1+i)), table.S(lease.Bucket("c", "p", region, i%4))
		w.put(region, item)
	}
	w.cloud.Settle()
}

func (w *fixture) agent(region string, change ...func(*Config)) *Agent {
	w.t.Helper()
	cfg := Config{Region: region, Table: testTable, Client: func(region string) *dynamodb.Client { return w.cloud.Region(region).Client() }}
	for _, c := range change {
		c(&cfg)
	}
	a, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(a.Close)
	return a
}

func get(ctx context.Context, t testing.TB, a *Agent, key string, length time.Duration) Lease {
	t.Helper()
	l, err := a.GetLease(ctx, "c", "p", key, time.Now().Add(length))
	if err != nil {
		t.Fatal(err)
	}
	return l
}
