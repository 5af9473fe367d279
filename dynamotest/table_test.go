package dynamotest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func describe(t *testing.T, db *dynamodb.Client) *types.TableDescription {
	t.Helper()
	out, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("leases")})
	if err != nil {
		t.Fatal(err)
	}
	return out.Table
}

func TestTableLife(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	_, db := open(t, Config{Clock: clock, Profile: Profile{TableDelay: 10 * time.Second}})
	ctx := t.Context()
	create(t, db, func(in *dynamodb.CreateTableInput) { in.DeletionProtectionEnabled = aws.Bool(true) })
	name, text := code(tryPut(ctx, db, "a"))
	if d := describe(t, db); d.TableStatus != "CREATING" || name != "ResourceNotFoundException" {
		t.Fatal(d.TableStatus, name, text)
	}
	_, err := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String("leases")})
	if name, _ := code(err); name != "ResourceInUseException" {
		t.Fatal(err)
	}
	clock.Advance(10 * time.Second)
	for i := range 3 {
		put(ctx, t, db, m{"pk": s(fmt.Sprint(i)), "sk": s("0"), "v": n("1"), "w": s("x"), "x": s("y")})
	}
	_, err = db.UpdateTable(ctx, &dynamodb.UpdateTableInput{
		TableName: aws.String("leases"), AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("v"), AttributeType: "N"}},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: aws.String("byV"), KeySchema: keySchema("v"), Projection: &types.Projection{ProjectionType: "INCLUDE", NonKeyAttributes: []string{"w"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := describe(t, db)
	_, err = db.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("leases"), IndexName: aws.String("byV")})
	if name, _ := code(err); d.TableStatus != "UPDATING" || d.GlobalSecondaryIndexes[1].IndexStatus != "CREATING" || name != "ValidationException" {
		t.Fatal(d.TableStatus, d.GlobalSecondaryIndexes, err)
	}
	clock.Advance(10 * time.Second)
	d = describe(t, db)
	if found := scanAll(t, db, &dynamodb.ScanInput{IndexName: aws.String("byV")}); len(found) != 3 || len(found[0]) != 4 || d.TableStatus != "ACTIVE" || *d.ItemCount != 3 {
		t.Fatal(found, d.TableStatus)
	}
	_, err = db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String("leases"), GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
		{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: aws.String("byV")}},
	}})
	if d := describe(t, db); err != nil || len(d.GlobalSecondaryIndexes) != 1 || len(d.AttributeDefinitions) != 4 {
		t.Fatal(d, err)
	}
	clock.Advance(10 * time.Second)
	_, err = db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String("leases")})
	if name, text := code(err); name != "ValidationException" || !strings.Contains(text, "protected against deletion") {
		t.Fatal(err)
	}
	if _, err = db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String("leases"), DeletionProtectionEnabled: aws.Bool(false)}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(10 * time.Second)
	if _, err = db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String("leases")}); err != nil {
		t.Fatal(err)
	}
	_, err = db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("leases")})
	if name, _ := code(err); name != "ResourceNotFoundException" {
		t.Fatal(err)
	}
}

// Provisioned capacity is described as it was given, for the table and for its indexes, and limits
// nothing.
func TestProvisionedThroughput(t *testing.T) {
	_, db := open(t, Config{})
	units := func(n int64) *types.ProvisionedThroughput {
		return &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(n), WriteCapacityUnits: aws.Int64(n + 1)}
	}
	create(t, db, func(in *dynamodb.CreateTableInput) {
		in.BillingMode, in.ProvisionedThroughput = "", units(3)
		for i := range in.GlobalSecondaryIndexes {
			in.GlobalSecondaryIndexes[i].ProvisionedThroughput = units(7)
		}
	})
	for i := range 20 {
		put(t.Context(), t, db, m{"pk": s(fmt.Sprint(i)), "sk": s("0")})
	}
	d := describe(t, db)
	if d.BillingModeSummary != nil || *d.ProvisionedThroughput.ReadCapacityUnits != 3 || *d.ProvisionedThroughput.WriteCapacityUnits != 4 {
		t.Errorf("the table has %+v, %+v", d.BillingModeSummary, d.ProvisionedThroughput)
	}
	if x := d.GlobalSecondaryIndexes[0].ProvisionedThroughput; *x.ReadCapacityUnits != 7 || *x.WriteCapacityUnits != 8 {
		t.Errorf("the index has %+v", x)
	}
}

func TestListTables(t *testing.T) {
	_, db := open(t, Config{})
	for _, name := range []string{"bbb", "ccc", "aaa"} {
		create(t, db, func(in *dynamodb.CreateTableInput) { in.TableName = &name })
	}
	var pages []string
	p := dynamodb.NewListTablesPaginator(db, &dynamodb.ListTablesInput{Limit: aws.Int32(2)})
	for p.HasMorePages() {
		out, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, strings.Join(out.TableNames, " "))
	}
	if fmt.Sprintf("%q", pages) != `["aaa bbb" "ccc"]` {
		t.Fatalf("%q", pages)
	}
}

// TestReplicasComeAndGo: a table becomes global with its items; a replica can be removed, and the
// last one is a table of one region.
func TestReplicasComeAndGo(t *testing.T) {
	c, dbs := threeRegions(t, Profile{}, 0)
	ctx := t.Context()
	put(ctx, t, dbs[1], m{"pk": s("a"), "sk": s("0")})
	if d := describe(t, dbs[2]); len(d.Replicas) != 2 || *d.GlobalTableVersion != "2019.11.21" || *d.ItemCount != 1 || *d.TableArn != "arn:aws:dynamodb:c:000000000000:table/leases" {
		t.Fatal(d)
	}
	remove := func(region string) error {
		_, err := dbs[0].UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: aws.String("leases"), ReplicaUpdates: []types.ReplicationGroupUpdate{
			{Delete: &types.DeleteReplicationGroupMemberAction{RegionName: &region}},
		}})
		return err
	}
	for _, bad := range []string{"a", "nowhere"} {
		if name, _ := code(remove(bad)); name != "ValidationException" {
			t.Fatal(bad, name)
		}
	}
	if err := remove("b"); err != nil {
		t.Fatal(err)
	}
	if d := describe(t, dbs[0]); len(d.Replicas) != 1 || *d.Replicas[0].RegionName != "c" {
		t.Fatal(d.Replicas)
	}
	put(ctx, t, dbs[0], m{"pk": s("b"), "sk": s("0")})
	if d := describe(t, dbs[2]); *d.ItemCount != 2 || c.regions[1].tables["leases"] != nil {
		t.Fatal(*d.ItemCount)
	}
	if _, err := dbs[2].DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String("leases")}); err != nil {
		t.Fatal(err)
	}
	if d := describe(t, dbs[0]); d.Replicas != nil || d.GlobalTableVersion != nil {
		t.Fatal(d)
	}
}

// TestCut: while a link is cut, both regions accept writes. After it, all regions have the later
// write.
func TestCut(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	c, db := open(t, Config{Regions: []string{"a", "b"}, Clock: clock, Profile: Profile{ReplicationLag: Span{time.Second, time.Second}}})
	create(t, db)
	if _, err := db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("leases"), ReplicaUpdates: []types.ReplicationGroupUpdate{
		{Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String("b")}},
	}}); err != nil {
		t.Fatal(err)
	}
	other := client(c.Region("b"))
	for _, way := range [][2]string{{"a", "b"}, {"b", "a"}} {
		if err := c.Cut(way[0], way[1], true); err != nil {
			t.Fatal(err)
		}
	}
	put(t.Context(), t, other, m{"pk": s("x"), "sk": s("0"), "v": n("1")})
	clock.Advance(time.Millisecond)
	put(t.Context(), t, db, m{"pk": s("x"), "sk": s("0"), "v": n("2")})
	clock.Advance(time.Hour)
	if a, b := tableItems(t, db, "", true)["x"], tableItems(t, other, "", true)["x"]; a != "pk=x sk=0 v=2 " || b != "pk=x sk=0 v=1 " {
		t.Fatal(a, b)
	}
	for _, way := range [][2]string{{"a", "b"}, {"b", "a"}} {
		if err := c.Cut(way[0], way[1], false); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := tableItems(t, db, "", true)["x"], tableItems(t, other, "", true)["x"]; a != "pk=x sk=0 v=2 " || b != a {
		t.Fatal(a, b)
	}
	if c.Cut("a", "a", true) == nil || c.Cut("a", "nowhere", true) == nil {
		t.Fatal("Cut accepted a link that does not exist")
	}
}

func TestBadConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"regions": {Regions: []string{"a", "a"}}, "name": {Regions: []string{"A B"}}, "span": {Profile: Profile{IndexLag: Span{2, 1}}},
		"merge": {Profile: Profile{Merge: 2}}, "fault": {Profile: Profile{Faults: []Fault{{Kind: "x"}}}}, "rate": {Profile: Profile{Faults: []Fault{{Kind: Slow, Rate: 2}}}},
		"link": {Profile: Profile{Links: map[Link]Span{{"a", "b"}: {}}}},
	} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "dynamotest: ") {
			t.Error(name, err)
		}
	}
}

// TestSettle: after Settle, everything that lagged is visible.
func TestSettle(t *testing.T) {
	p := Hostile()
	p.Faults, p.TableDelay = nil, 0
	c, dbs := threeRegions(t, p, 1)
	for i := range 20 {
		put(t.Context(), t, dbs[i%3], m{"pk": s(fmt.Sprint(i)), "sk": s("0"), "pool": s("p"), "since": n("1")})
	}
	if err := c.Settle(); err != nil {
		t.Fatal(err)
	}
	for _, db := range dbs {
		for _, index := range []string{"", "free"} {
			if n := len(tableItems(t, db, index, false)); n != 20 {
				t.Fatal(index, n)
			}
		}
	}
}
