package admin_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
	leasetable "github.com/weirhq/weir/lease/table"
)

// documentedKinds reads docs/leases-table.md: the type of each attribute, by kind of item.
func documentedKinds(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/leases-table.md")
	if err != nil {
		t.Fatal(err)
	}
	heading, row := regexp.MustCompile(`^### (\w[\w ]*), `), regexp.MustCompile("^\\| `(\\w+)` \\| (\\w+) \\|([\\w ]*)\\|")
	kinds, kind := map[string]map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if m := heading.FindStringSubmatch(line); m != nil {
			kind = m[1]
			kinds[kind] = map[string]string{leasetable.PK: "S", leasetable.SK: "S"}
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if unit := strings.TrimSpace(m[3]); (unit == "time" || unit == "duration") != strings.HasSuffix(m[1], "_ms") {
			t.Errorf("%s of %s has the unit %q: names of times and durations end in _ms, and no others", m[1], kind, unit)
		}
		kinds[kind][m[1]] = m[2]
	}
	return kinds
}

// codeAttributes returns the string constants of lease/table/attributes.go, and the numbers of a
// headroom row.
func codeAttributes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../lease/table/attributes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			name, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return true
	})
	for name := range leasetable.HeadroomItem(&eventspb.LeaseHeadroom{}) {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// docs/leases-table.md lists exactly the attributes that the code has.
func TestAttributesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, attributes := range documentedKinds(t) {
		for name := range attributes {
			documented[name] = true
		}
	}
	inCode := codeAttributes(t)
	if inPage := slices.Sorted(maps.Keys(documented)); !slices.Equal(inPage, inCode) {
		t.Errorf("docs/leases-table.md lists %q,\nthe code has             %q", inPage, inCode)
	}
}

// kindOf returns the heading under which the page lists an item.
func kindOf(pk, sk string) string {
	switch {
	case pk == "L" && sk == "home":
		return "Home"
	case pk == "C":
		return "Client"
	}
	return map[byte]string{
		'R': "Resource", 'K': "Key", 'C': "Pool", 'G': "Region", 'L': "Write lease", 'B': "Heartbeat", 'D': "Demand", 'H': "Headroom", 'I': "Import",
	}[pk[0]]
}

// TestItemsAreDocumented runs every operation that writes to the table. Each item that appears has
// only the attributes that the page lists for its kind, with their types; and each documented
// attribute appears.
func TestItemsAreDocumented(t *testing.T) {
	kinds := documentedKinds(t)
	seen := map[string]map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		w := threeRegions(t)
		scan := func() {
			t.Helper()
			out, err := w.cloud.Region("us").Client().Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range out.Items {
				checkItem(t, item, kinds, seen)
			}
		}
		w.pass(t, 20*time.Second)
		leaseAndRefuse(t, w)
		scan()
		superseded(t, w)
		wait(t, time.Second)
		scan()
		w.pass(t, 20*time.Second)
		heartbeatOf(t, w, "us")
		if _, ok, err := testTable(w).PutHeadroom(t.Context(), &eventspb.LeaseHeadroom{Client: "c", Pool: "p", Region: "us", AsOfMs: 1}); err != nil || !ok {
			t.Fatal(ok, err)
		}
		moveFromLostHome(t, w, scan)
	})
	for kind, attributes := range kinds {
		for name := range attributes {
			if !seen[kind][name] {
				t.Errorf("%s of %s is documented and was not seen in any item", name, kind)
			}
		}
	}
}

// checkItem compares an item with the page, and adds its attributes to seen.
func checkItem(t *testing.T, item leasetable.Item, kinds map[string]map[string]string, seen map[string]map[string]bool) {
	t.Helper()
	pk, sk := leasetable.Text(item, leasetable.PK), leasetable.Text(item, leasetable.SK)
	kind := kindOf(pk, sk)
	if seen[kind] == nil {
		seen[kind] = map[string]bool{}
	}
	for name, v := range item {
		got := strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
		if want := kinds[kind][name]; got != want {
			t.Errorf("%s %s: attribute %s of type %s, docs/leases-table.md has %q for a %s item", pk, sk, name, got, want, kind)
		}
		seen[kind][name] = true
	}
}

func testTable(w *fixture) *leasetable.Table {
	return &leasetable.Table{
		Name: table, New: func(region string) *dynamodb.Client { return w.cloud.Region(region).Client() },
		Skew: 500 * time.Millisecond, Timeout: 2 * time.Second, Attempts: 3,
	}
}

// leaseAndRefuse leases all resources of a region, so that one more key is refused, and releases
// one lease. An import with an id runs long enough to save its progress.
func leaseAndRefuse(t *testing.T, w *fixture) {
	t.Helper()
	update(t, w, admin.Pool{Client: "c", Pool: "p"}, func(p *admin.Pool) { p.Floors = map[string]int64{"eu": 1} })
	a, err := agent.New(agent.Config{Region: "us", Table: table, Client: testTable(w).New})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for i := range 11 {
		l, err := a.GetLease(t.Context(), "c", "p", fmt.Sprint("k", i), time.Now().Add(time.Minute))
		if (err != nil) != (i == 10) {
			t.Fatalf("key %d: %v", i, err)
		}
		if i == 0 {
			if err := a.Release(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
	}
	wait(t, 2*time.Second) // the refusal is counted in the background
	create(t, w, admin.Pool{Client: "c", Pool: "other"})
	if _, err := w.CreateResource(t.Context(), "c", "other", "eu", "elsewhere"); err != nil {
		t.Fatal(err)
	}
	names := bytes.NewBufferString("elsewhere\n" + strings.Repeat("eu0\n", 30_000))
	_, err = w.ImportResources(t.Context(), names, admin.ResourceImport{Client: "c", Pool: "p", Region: "eu", ID: "digest", MaxRate: 1000})
	if err != nil {
		t.Fatal(err)
	}
}

// superseded supersedes the lease of k1 in us.
func superseded(t *testing.T, w *fixture) {
	t.Helper()
	tab := testTable(w)
	partition := lease.KeyPartition("c", "p", "k1")
	rows, err := tab.Keys(t.Context(), "us", partition)
	if err != nil {
		t.Fatal(err)
	}
	write := lease.Write{Rule: &lease.Protocol().Supersede, Args: lease.Row{Version: rows["us"].Version, State: lease.Superseded, Winner: "eu"}}
	if _, ok, err := tab.Write(t.Context(), "us", lease.PrimaryKey{Partition: partition, Sort: "us"}, &write, leasetable.Item{}); err != nil || !ok {
		t.Fatal(ok, err)
	}
}

// moveFromLostHome cuts the home off, moves it, and lets the new home adopt its resources. It scans
// while the move is incomplete.
func moveFromLostHome(t *testing.T, w *fixture, scan func()) {
	t.Helper()
	since := time.Now()
	w.alone(t, "eu", true)
	us := w.adminAt(t, "us")
	for range 12 {
		wait(t, 10*time.Second)
		for _, by := range []string{"us", "ap"} {
			if _, err := us.RenewWriteLeases(t.Context(), by); err != nil {
				t.Log(err)
			}
		}
	}
	wait(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	var moved error
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, moved = us.MoveHome(ctx, admin.HomeMove{To: "us", DeadSince: since})
	}()
	for moving := true; moving; {
		select {
		case <-done:
			moving = false
		case <-time.After(time.Millisecond):
			scan()
		}
	}
	cancel()
	if moved != nil {
		t.Fatal(moved)
	}
	scan()
}
