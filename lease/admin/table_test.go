package admin_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease/admin"
	leasetable "github.com/weirhq/weir/lease/table"
)

// A table is created step by step, with a notification for each. When it is complete, no step is
// left.
func TestApply(t *testing.T) {
	cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{"eu", "us", "ap"}, Profile: dynamotest.Profile{TableDelay: 100 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	w := &fixture{cloud: cloud}
	a := w.admin(t, "eu", "us", "ap")
	var begun []string
	if err := a.Apply(t.Context(), func(s admin.TableStep) { begun = append(begun, s.String()) }); err != nil {
		t.Fatal(err)
	}
	if len(begun) != 3 || !strings.HasPrefix(begun[0], "eu: create table leases") || begun[1] != "eu: add a replica in us" || begun[2] != "eu: add a replica in ap" {
		t.Errorf("%q", begun)
	}
	if steps, err := a.Plan(t.Context()); err != nil || len(steps) != 0 {
		t.Errorf("%v, %v", steps, err)
	}
}

// A table that can never become a lease table is refused, and a home region that the other
// processes do not have.
func TestPlanRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*dynamodb.CreateTableInput)
		want   string
	}{
		{"keys", func(in *dynamodb.CreateTableInput) {
			in.KeySchema, in.AttributeDefinitions, in.GlobalSecondaryIndexes = in.KeySchema[:1], in.AttributeDefinitions[:1], nil
		}, "has the keys pk S, and a lease table has pk S, sk S"},
		{"index", func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].Projection = &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
		}, "projects []"},
		{"stream", func(in *dynamodb.CreateTableInput) {
			in.StreamSpecification.StreamViewType = types.StreamViewTypeKeysOnly
		}, "KEYS_ONLY"},
	} {
		cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{"eu", "us"}})
		if err != nil {
			t.Fatal(err)
		}
		defer cloud.Close()
		w := &fixture{cloud: cloud}
		in := leasetable.Create(table)
		c.change(in)
		if _, err := cloud.Region("eu").Client().CreateTable(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if _, err := w.admin(t, "eu", "us").Plan(t.Context()); !errors.Is(err, agent.ErrTable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, err := w.admin(t, "us", "eu").Plan(t.Context()); !errors.Is(err, admin.ErrHome) {
			t.Errorf("%s: another order of regions: %v", c.name, err)
		}
	}
}

// Missing parts are created.
func TestApplyRepairs(t *testing.T) {
	cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{"eu"}})
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Close()
	w := &fixture{cloud: cloud}
	in := leasetable.Create(table)
	in.StreamSpecification, in.GlobalSecondaryIndexes, in.AttributeDefinitions = nil, nil, in.AttributeDefinitions[:2]
	if _, err := cloud.Region("eu").Client().CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	a := w.admin(t, "eu")
	if steps, err := a.Plan(t.Context()); err != nil || len(steps) != 2 {
		t.Fatalf("%v, %v", steps, err)
	}
	if err := a.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	out, err := cloud.Region("eu").Client().DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	if err != nil || len(out.Table.GlobalSecondaryIndexes) != 1 || out.Table.StreamSpecification == nil || !*out.Table.StreamSpecification.StreamEnabled {
		t.Errorf("%+v, %v", out.Table, err)
	}
}

// Each role is permitted the actions that the code uses.
func TestPolicy(t *testing.T) {
	for _, role := range admin.Roles() {
		text, err := admin.Policy(role, "leases", "123")
		if err != nil || !strings.Contains(text, `"arn:aws:dynamodb:*:123:table/leases"`) || !strings.Contains(text, `"2012-10-17"`) {
			t.Errorf("%s: %v\n%s", role, err, text)
		}
	}
	if _, err := admin.Policy("nobody", "leases", "*"); !errors.Is(err, admin.ErrInvalid) {
		t.Error(err)
	}
}
