package admin_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease/admin"
)

const table = "leases"

// fixture is a cloud with the table in all its regions, and a client c with a pool p.
type fixture struct {
	cloud   *dynamotest.Cloud
	regions []string
	*admin.Admin
}

func newFixture(t testing.TB, profile dynamotest.Profile, regions ...string) *fixture {
	t.Helper()
	faults := profile.Faults
	profile.Faults = nil
	cloud, err := dynamotest.New(dynamotest.Config{Regions: regions, Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cloud.Close() })
	w := &fixture{cloud: cloud, regions: regions}
	w.Admin = w.admin(t, regions...)
	if err := w.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, r := range regions {
		create(t, w, admin.Region{Region: r})
	}
	create(t, w, admin.Client{Client: "c"})
	create(t, w, admin.Pool{Client: "c", Pool: "p", Buckets: 4})
	cloud.Settle()
	cloud.SetFaults(faults...)
	return w
}

// renewWriteLeases renews write leases through all grantors but some.
func (w *fixture) renewWriteLeases(ctx context.Context, but ...string) error {
	var errs []error
	for _, by := range w.regions {
		if !slices.Contains(but, by) {
			_, err := w.RenewWriteLeases(ctx, by)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (w *fixture) admin(t testing.TB, regions ...string) *admin.Admin {
	t.Helper()
	a, err := admin.New(w.config(regions...))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (w *fixture) config(regions ...string) admin.Config {
	return admin.Config{
		Table: table, Regions: regions,
		Client:  func(region string) *dynamodb.Client { return w.cloud.Region(region).Client() },
		Streams: func(region string) *dynamodbstreams.Client { return w.cloud.Region(region).StreamsClient() },
	}
}
