package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease/table"
)

// Step is one thing to do to the table.
type Step struct {
	Region string `json:"region"`
	What   string `json:"what"`

	create *dynamodb.CreateTableInput
	update *dynamodb.UpdateTableInput
}

// String is the step for people.
func (s Step) String() string { return s.Region + ": " + s.What }

// Plan compares the table with what it has to be. The error is ErrTable where it can never become that.
func (a *Admin) Plan(ctx context.Context) ([]Step, error) {
	t, err := a.describe(ctx, a.home())
	if err != nil {
		return nil, err
	}
	want := table.Create(a.table.Name)
	var steps []Step
	if t == nil {
		if err := a.wrongRegion(ctx); err != nil {
			return nil, err
		}
		t = &types.TableDescription{
			StreamSpecification: want.StreamSpecification, KeySchema: want.KeySchema, AttributeDefinitions: want.AttributeDefinitions,
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndexDescription{{
				IndexName: want.GlobalSecondaryIndexes[0].IndexName, KeySchema: want.GlobalSecondaryIndexes[0].KeySchema, Projection: want.GlobalSecondaryIndexes[0].Projection,
			}},
		}
		steps = append(steps, Step{Region: a.home(), create: want, What: "create table " + a.table.Name + ", on demand, with the index " + table.AvailableIndex +
			" and a stream of old and new images"})
	}
	if bad := a.mismatch(t, want); bad != "" {
		return nil, fmt.Errorf("%w: %s: choose another name, or remove what is there", table.ErrTable, bad)
	}
	for _, r := range t.Replicas {
		if err := failedReplica(r); err != nil {
			return nil, err
		}
	}
	if s := t.StreamSpecification; s == nil || s.StreamEnabled == nil || !*s.StreamEnabled {
		steps = append(steps, a.update("switch its stream on, of old and new images", &dynamodb.UpdateTableInput{StreamSpecification: want.StreamSpecification}))
	}
	if index(t) == nil {
		in := &want.GlobalSecondaryIndexes[0]
		steps = append(steps, a.update("create the index "+table.AvailableIndex, &dynamodb.UpdateTableInput{
			AttributeDefinitions: want.AttributeDefinitions, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
				{Create: &types.CreateGlobalSecondaryIndexAction{IndexName: in.IndexName, KeySchema: in.KeySchema, Projection: in.Projection}},
			},
		}))
	}
	for _, region := range others(a.regions, a.home()) {
		if !slices.ContainsFunc(t.Replicas, func(r types.ReplicaDescription) bool { return r.RegionName != nil && *r.RegionName == region }) {
			steps = append(steps, a.update("add a replica in "+region, &dynamodb.UpdateTableInput{
				ReplicaUpdates: []types.ReplicationGroupUpdate{{Create: &types.CreateReplicationGroupMemberAction{RegionName: &region}}},
			}))
		}
	}
	return steps, nil
}

func (a *Admin) update(what string, in *dynamodb.UpdateTableInput) Step {
	in.TableName = &a.table.Name
	return Step{Region: a.home(), What: what, update: in}
}

// mismatch is what is wrong with a table for good.
func (a *Admin) mismatch(t *types.TableDescription, want *dynamodb.CreateTableInput) string {
	in := index(t)
	switch {
	case schema(t.KeySchema, t.AttributeDefinitions) != schema(want.KeySchema, want.AttributeDefinitions):
		return fmt.Sprintf("table %s in %s has the keys %s, weir's has %s", a.table.Name, a.home(),
			schema(t.KeySchema, t.AttributeDefinitions), schema(want.KeySchema, want.AttributeDefinitions))
	case in != nil && schema(in.KeySchema, t.AttributeDefinitions) != schema(want.GlobalSecondaryIndexes[0].KeySchema, want.AttributeDefinitions):
		return fmt.Sprintf("its index %s has the keys %s", table.AvailableIndex, schema(in.KeySchema, t.AttributeDefinitions))
	case in != nil && in.Projection.ProjectionType != types.ProjectionTypeAll && !shows(in.Projection, want.GlobalSecondaryIndexes[0].Projection):
		return fmt.Sprintf("its index %s shows %v", table.AvailableIndex, in.Projection.NonKeyAttributes)
	case t.StreamSpecification != nil && t.StreamSpecification.StreamViewType != "" && t.StreamSpecification.StreamViewType != types.StreamViewTypeNewAndOldImages:
		return fmt.Sprintf("its stream has %s", t.StreamSpecification.StreamViewType)
	}
	return ""
}

func shows(has, want *types.Projection) bool {
	for _, name := range want.NonKeyAttributes {
		if !slices.Contains(has.NonKeyAttributes, name) {
			return false
		}
	}
	return true
}

func index(t *types.TableDescription) *types.GlobalSecondaryIndexDescription {
	for i := range t.GlobalSecondaryIndexes {
		if *t.GlobalSecondaryIndexes[i].IndexName == table.AvailableIndex {
			return &t.GlobalSecondaryIndexes[i]
		}
	}
	return nil
}

// schema is a key schema in words: pk S, sk S.
func schema(keys []types.KeySchemaElement, attributes []types.AttributeDefinition) string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = *k.AttributeName
		for _, d := range attributes {
			if *d.AttributeName == *k.AttributeName {
				list[i] += " " + string(d.AttributeType)
			}
		}
	}
	return strings.Join(list, ", ")
}

// wrongRegion is the error of a table that is in another region, where the home has none.
func (a *Admin) wrongRegion(ctx context.Context) error {
	for _, region := range others(a.regions, a.home()) {
		t, err := a.describe(ctx, region)
		if err != nil {
			return err
		}
		if t != nil {
			return fmt.Errorf("%w: table %s is in %s and not in %s: set leases.home to what all others have", ErrHome, a.table.Name, region, a.home())
		}
	}
	return nil
}

// failedReplica is the error of a replica that will not come.
func failedReplica(r types.ReplicaDescription) error {
	switch r.ReplicaStatus {
	case types.ReplicaStatusCreationFailed, types.ReplicaStatusRegionDisabled, types.ReplicaStatusInaccessibleEncryptionCredentials:
		why := "DynamoDB does not say why"
		if r.ReplicaStatusDescription != nil {
			why = *r.ReplicaStatusDescription
		}
		return fmt.Errorf("%w: replica in %s is %s: %s", table.ErrTable, *r.RegionName, r.ReplicaStatus, why)
	default:
		return nil
	}
}

// describe is nil where there is no table.
func (a *Admin) describe(ctx context.Context, region string) (*types.TableDescription, error) {
	ctx, cancel := a.request(ctx)
	defer cancel()
	out, err := a.table.Client(region).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &a.table.Name}, a.table.Options)
	var none *types.ResourceNotFoundException
	switch {
	case errors.As(err, &none):
		return nil, nil
	case err != nil:
		return nil, a.table.ClassifyError(region, err)
	}
	return out.Table, nil
}

// Apply does what Plan says, one step after the other, and waits for each: a replica of a large table takes hours. What it
// did not come to can be applied again. told hears of each step when it begins.
func (a *Admin) Apply(ctx context.Context, told func(Step)) error {
	var last string
	var done time.Time
	for {
		if err := a.awaitTable(ctx); err != nil {
			return err
		}
		steps, err := a.Plan(ctx)
		if err != nil || len(steps) == 0 {
			return err
		}
		switch s := steps[0]; {
		case s.What != last:
			if last, done = s.What, time.Now(); told != nil {
				told(s)
			}
			if err := a.do(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		case time.Since(done) > maxTableDelay:
			return fmt.Errorf("%w: %s: it was done %v ago, and the table does not show it", table.ErrTable, s, maxTableDelay)
		default: // descriptions of tables lag
			if !pause.For(ctx, time.Second/4) {
				return ctx.Err()
			}
		}
	}
}

// maxTableDelay is how long a table may take to show what was done to it.
const maxTableDelay = time.Minute

func (a *Admin) do(ctx context.Context, s Step) error {
	ctx, cancel := a.request(ctx)
	defer cancel()
	var err error
	if s.create != nil {
		_, err = a.table.Client(s.Region).CreateTable(ctx, s.create, a.table.Options)
	} else {
		_, err = a.table.Client(s.Region).UpdateTable(ctx, s.update, a.table.Options)
	}
	var busy *types.ResourceInUseException
	if err == nil || errors.As(err, &busy) { // busy: an answer was lost, or somebody else does it
		return nil
	}
	return a.table.ClassifyError(s.Region, err)
}

// awaitTable waits until nothing of the table is being made.
func (a *Admin) awaitTable(ctx context.Context) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		t, err := a.describe(ctx, a.home())
		if err != nil || t == nil || isTableReady(t) {
			return err
		}
		if !pause.For(ctx, wait) {
			return ctx.Err()
		}
	}
}

func isTableReady(t *types.TableDescription) bool {
	for _, in := range t.GlobalSecondaryIndexes {
		if in.IndexStatus != types.IndexStatusActive {
			return false
		}
	}
	for _, r := range t.Replicas {
		if r.ReplicaStatus != types.ReplicaStatusActive && failedReplica(r) == nil {
			return false
		}
	}
	return t.TableStatus == types.TableStatusActive
}
