package table_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	leasetable "github.com/weirhq/weir/lease/table"
)

func table(t *testing.T) (*dynamotest.Cloud, *leasetable.Table) {
	t.Helper()
	cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{"eu-west-1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cloud.Close() })
	tab := &leasetable.Table{
		Name: "leases", New: func(region string) *dynamodb.Client { return cloud.Region(region).Client() },
		Skew: 2 * time.Second, Timeout: 5 * time.Second, Attempts: 3,
	}
	if _, err := tab.Client("eu-west-1").CreateTable(t.Context(), leasetable.Create("leases")); err != nil {
		t.Fatal(err)
	}
	return cloud, tab
}

func item(sort string, attributes ...string) leasetable.Item {
	it := leasetable.PrimaryKey(lease.PrimaryKey{Partition: "p", Sort: sort})
	for _, a := range attributes {
		it[a] = leasetable.S(a + " of " + sort)
	}
	return it
}

// Items of one request may have different attributes. An item whose key exists stays unchanged.
func TestInsert(t *testing.T) {
	_, tab := table(t)
	first := []leasetable.Item{item("a", "x"), item("b", "x", "y"), item("c", "y"), item("d", "y"), item("e", "x")}
	for i, want := range [][]bool{{false, false, false, false, false}, {true, true, true, true, true}} {
		got, err := tab.Insert(t.Context(), "eu-west-1", first)
		if err != nil {
			t.Fatal(err)
		}
		for j := range got {
			if got[j].Err != nil || got[j].Existed != want[j] {
				t.Errorf("time %d, item %d: %+v, want existed %v", i, j, got[j], want[j])
			}
		}
	}
	again := item("b", "z")
	if got, err := tab.Insert(t.Context(), "eu-west-1", []leasetable.Item{again, item("f")}); err != nil || !got[0].Existed || got[1].Existed {
		t.Errorf("%+v, %v", got, err)
	}
	keys := []lease.PrimaryKey{{Partition: "p", Sort: "none"}}
	for _, it := range first {
		keys = append(keys, lease.PrimaryKey{Partition: "p", Sort: leasetable.Text(it, leasetable.SK)})
	}
	found, err := tab.GetAll(t.Context(), "eu-west-1", keys)
	if err != nil || len(found) != len(first) {
		t.Fatalf("%d of %d, %v", len(found), len(first), err)
	}
	for _, it := range first {
		for name := range it {
			if got, want := leasetable.Text(found[lease.PrimaryKey{Partition: "p", Sort: leasetable.Text(it, leasetable.SK)}], name), leasetable.Text(it, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
}

// An item that cannot be put does not stop the others.
func TestInsertRefused(t *testing.T) {
	_, tab := table(t)
	wrong := item("b")
	wrong[leasetable.SK] = leasetable.N(1)
	got, err := tab.Insert(t.Context(), "eu-west-1", []leasetable.Item{item("a"), wrong})
	if err != nil || got[0].Err != nil || !errors.Is(got[1].Err, leasetable.ErrTable) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Put and Delete are made only under their condition. A write whose answer was lost is recognized
// as our own.
func TestExpect(t *testing.T) {
	cloud, tab := table(t)
	row := func(version int64, writer string) leasetable.Item {
		it := item("a")
		it[leasetable.Version], it[leasetable.WriterRegion] = leasetable.N(version), leasetable.S(writer)
		return it
	}
	p := lease.PrimaryKey{Partition: "p", Sort: "a"}
	ctx := t.Context()
	for _, step := range []struct {
		name   string
		item   leasetable.Item
		expect leasetable.Expect
		ok     bool
	}{
		{"no item yet", row(1, "eu"), leasetable.Expect{}, true},
		{"the same again", row(1, "eu"), leasetable.Expect{}, true},
		{"an item exists", row(2, "eu"), leasetable.Expect{}, false},
		{"the next version", row(2, "eu"), leasetable.Expect{Version: 1, Writer: "eu"}, true},
		{"another version", row(4, "eu"), leasetable.Expect{Version: 3, Writer: "eu"}, false},
		{"another writer", row(3, "us"), leasetable.Expect{Version: 2, Writer: "us"}, false},
		{"any version", row(9, "us"), leasetable.AnyVersion(), true},
	} {
		if _, ok, err := tab.Put(ctx, "eu-west-1", step.item, step.expect); err != nil || ok != step.ok {
			t.Errorf("%s: %v, %v, want %v", step.name, ok, err, step.ok)
		}
	}
	if ok, err := tab.Delete(ctx, "eu-west-1", p, leasetable.Expect{Version: 8, Writer: "us"}); ok || err != nil {
		t.Errorf("removed at another version: %v, %v", ok, err)
	}
	for range 2 {
		if ok, err := tab.Delete(ctx, "eu-west-1", p, leasetable.Expect{Version: 9, Writer: "us"}); !ok || err != nil {
			t.Errorf("removed: %v, %v", ok, err)
		}
	}
	for _, c := range []struct {
		fault dynamotest.FaultKind
		want  error
	}{{dynamotest.Throttle, leasetable.ErrThrottled}, {dynamotest.Unreachable, leasetable.ErrUnavailable}} {
		if err := cloud.SetFaults(dynamotest.Fault{Kind: c.fault, Rate: 1}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := tab.Put(ctx, "eu-west-1", row(1, "eu"), leasetable.Expect{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.fault, err, c.want)
		}
		if _, err := tab.GetAll(ctx, "eu-west-1", []lease.PrimaryKey{p}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.fault, err, c.want)
		}
	}
}
