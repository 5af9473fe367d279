package node

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
	leasetable "github.com/weirhq/weir/lease/table"
)

// A region whose endpoint hangs delays no renewal as another region. A process that stops at once
// still renews once.
func TestRenewWriteLeases(t *testing.T) {
	env := clitest.DynamoDB(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	cfg, err := config.Load(config.Options{Environ: env, Hostname: func() (string, error) { return "host", nil }})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := ConnectLeaseTable(t.Context(), cfg.Leases)
	if err != nil {
		t.Fatal(err)
	}
	if err := whole.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, region := range []string{"eu", "us"} {
		if _, err := admin.Create(t.Context(), whole.Admin, admin.Region{Region: region, WriteLease: admin.Duration(5 * time.Minute)}); err != nil {
			t.Fatal(err)
		}
	}
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	go func() {
		for {
			c, err := hangs.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
	}()
	_, us, _ := strings.Cut(strings.TrimPrefix(env[0], "WEIR_LEASES_REGIONS="), ",")
	table, err := ConnectLeaseTable(t.Context(), config.Leases{
		Table: "weir-leases", Regions: []string{"eu=http://" + hangs.Addr().String(), us}, Skew: 500 * time.Millisecond, Timeout: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	renewal := writeLeaseRenewal{table, []string{"eu", "us"}, zerolog.Nop()}
	begun := time.Now()
	renewal.start(context.WithoutCancel(t.Context()))() // stops at once
	if took := time.Since(begun); took > firstRenewal+5*time.Second {
		t.Errorf("the stop took %v", took)
	}
	look := leasetable.Table{Name: "weir-leases", New: table.connection.Client, Skew: time.Minute, Timeout: 10 * time.Second, Attempts: 3}
	item, err := look.Get(t.Context(), "us", lease.WriteLeaseRow("eu", "us"))
	if until, bad := leasetable.Number(item, leasetable.WriteLeaseUntilMs); err != nil || bad != nil || time.UnixMilli(until).Before(begun.Add(4*time.Minute)) {
		t.Errorf("%v, %v: us has not renewed the write lease of eu", item, err)
	}
	if v, err := table.RenewWriteLeases(t.Context(), "us"); err != nil || v.Term != 5*time.Minute || !v.Expires.IsZero() {
		t.Errorf("%+v, %v", v, err)
	}
}

// A write lease that is about to end is logged each time, its end once, and never with a time that
// no region has granted.
func TestWriteLeaseWarnings(t *testing.T) {
	var out strings.Builder
	w := expiryWarnings{log: zerolog.New(&out), region: "eu"}
	begun := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	status := func(end time.Duration) admin.WriteLeaseStatus {
		return admin.WriteLeaseStatus{Term: time.Minute, Expires: begun.Add(end)}
	}
	for _, c := range []struct {
		after time.Duration
		known admin.WriteLeaseStatus
		want  []string // in the lines that the check adds
	}{
		{0, admin.WriteLeaseStatus{}, nil},
		{0, admin.WriteLeaseStatus{Term: time.Minute}, []string{"write_lease_ended"}},
		{10 * time.Second, admin.WriteLeaseStatus{Term: time.Minute}, nil},
		{20 * time.Second, status(time.Minute), nil},
		{45 * time.Second, status(time.Minute), []string{"write_lease_expiring", `"left_ms":15000`}},
		{55 * time.Second, status(time.Minute), []string{"write_lease_expiring", `"left_ms":5000`}},
		{65 * time.Second, status(time.Minute), []string{"write_lease_ended", `"until":"2026-01-31T12:01:00Z"`}},
		{75 * time.Second, status(time.Minute), nil},
		{85 * time.Second, status(2 * time.Minute), nil},
		{125 * time.Second, status(2 * time.Minute), []string{"write_lease_ended"}},
	} {
		out.Reset()
		w.check(c.known, begun.Add(c.after))
		if (out.Len() > 0) != (len(c.want) > 0) || strings.Contains(out.String(), "1970") {
			t.Errorf("after %v: %q, want %q", c.after, out.String(), c.want)
		}
		for _, text := range c.want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("after %v: %q, want %q", c.after, out.String(), text)
			}
		}
	}
}
