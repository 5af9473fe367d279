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

// TableStep is one step of Plan.
type TableStep struct {
	Region      string `json:"region"`
	Description string `json:"what"`

	create *dynamodb.CreateTableInput
	update *dynamodb.UpdateTableInput
}

// String returns the step for people.
func (s TableStep) String() string { return s.Region + ": " + s.Description }

// Plan returns the steps that are missing for the table. The error is ErrTable if it can never
// become a lease table.
func (a *Admin) Plan(ctx context.Context) ([]TableStep, error) {
	t, err := a.describe(ctx, a.home())
	if err != nil {
		return nil, err
	}
	want := table.Create(a.table.Name)
	var steps []TableStep
	if t == nil {
		if err := a.wrongRegion(ctx); err != nil {
			return nil, err
		}
		t = &types.TableDescription{
			StreamSpecification: want.StreamSpecification, KeySchema: want.KeySchema, AttributeDefinitions: want.AttributeDefinitions,
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndexDescription{{
				IndexName: want.GlobalSecondaryIndexes[0].IndexName, KeySchema: want.GlobalSecondaryIndexes[0].KeySchema,
				Projection: want.GlobalSecondaryIndexes[0].Projection,
			}},
		}
		steps = append(steps,
			TableStep{
				Region: a.home(), create: want,
				Description: "create table " + a.table.Name + ", on demand, with the index " + table.AvailableIndex +
					" and a stream of old and new images",
			})
	}
	if bad := a.mismatch(t, want); bad != "" {
		return nil, fmt.Errorf("%w: %s: use another table name, or delete this table", table.ErrTable, bad)
	}
	for _, r := range t.Replicas {
		if err := failedReplica(r); err != nil {
			return nil, err
		}
	}
	if s := t.StreamSpecification; s == nil || s.StreamEnabled == nil || !*s.StreamEnabled {
		steps = append(steps,
			a.update("switch its stream on, of old and new images",
				&dynamodb.UpdateTableInput{StreamSpecification: want.StreamSpecification}))
	}
	if index(t) == nil {
		in := &want.GlobalSecondaryIndexes[0]
		steps = append(steps, a.update("create the index "+table.AvailableIndex, &dynamodb.UpdateTableInput{
			AttributeDefinitions: want.AttributeDefinitions, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
				{
					Create: &types.CreateGlobalSecondaryIndexAction{
						IndexName: in.IndexName, KeySchema: in.KeySchema, Projection: in.Projection,
					},
				},
			},
		}))
	}
	for _, region := range others(a.regions, a.home()) {
		if !slices.ContainsFunc(t.Replicas,
			func(r types.ReplicaDescription) bool { return r.RegionName != nil && *r.RegionName == region }) {
			steps = append(steps, a.update("add a replica in "+region, &dynamodb.UpdateTableInput{
				ReplicaUpdates: []types.ReplicationGroupUpdate{{Create: &types.CreateReplicationGroupMemberAction{RegionName: &region}}},
			}))
		}
	}
	return steps, nil
}

func (a *Admin) update(what string, in *dynamodb.UpdateTableInput) TableStep {
	in.TableName = &a.table.Name
	return TableStep{Region: a.home(), Description: what, update: in}
}

// mismatch returns a difference that no step can repair; "" means that there is no such difference.
func (a *Admin) mismatch(t *types.TableDescription, want *dynamodb.CreateTableInput) string {
	in := index(t)
	switch {
	case schema(t.KeySchema, t.AttributeDefinitions) != schema(want.KeySchema, want.AttributeDefinitions):
		return fmt.Sprintf("table %s in %s has the keys %s, and a lease table has %s", a.table.Name, a.home(),
			schema(t.KeySchema, t.AttributeDefinitions), schema(want.KeySchema, want.AttributeDefinitions))
	case in != nil &&
		schema(in.KeySchema, t.AttributeDefinitions) != schema(want.GlobalSecondaryIndexes[0].KeySchema, want.AttributeDefinitions):
		return fmt.Sprintf("its index %s has the keys %s", table.AvailableIndex, schema(in.KeySchema, t.AttributeDefinitions))
	case in != nil && in.Projection.ProjectionType != types.ProjectionTypeAll &&
		!shows(in.Projection, want.GlobalSecondaryIndexes[0].Projection):
		return fmt.Sprintf("its index %s projects %v", table.AvailableIndex, in.Projection.NonKeyAttributes)
	case t.StreamSpecification != nil && t.StreamSpecification.StreamViewType != "" &&
		t.StreamSpecification.StreamViewType != types.StreamViewTypeNewAndOldImages:
		return fmt.Sprintf("its stream has the view type %s", t.StreamSpecification.StreamViewType)
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

// schema returns a key schema as text, such as: pk S, sk S.
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

// wrongRegion returns an error if the table is in another region, and the configured home has none.
func (a *Admin) wrongRegion(ctx context.Context) error {
	for _, region := range others(a.regions, a.home()) {
		t, err := a.describe(ctx, region)
		if err != nil {
			return err
		}
		if t != nil {
			return fmt.Errorf("%w: table %s is in %s and not in %s: configure the home region of the other processes", ErrHome,
				a.table.Name, region, a.home())
		}
	}
	return nil
}

// failedReplica returns the error of a replica whose creation failed.
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

// describe returns nil if there is no table.
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

// Apply executes the steps of Plan, one after the other, and waits for each: a replica of a large
// table takes hours. It can be repeated after an interruption. notify is called at the begin of
// each step.
func (a *Admin) Apply(ctx context.Context, notify func(TableStep)) error {
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
		case s.Description != last:
			if last, done = s.Description, time.Now(); notify != nil {
				notify(s)
			}
			if err := a.do(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		case time.Since(done) > maxTableDelay:
			return fmt.Errorf("%w: %s: the table does not show the change %v after it was made: try again", table.ErrTable, s,
				maxTableDelay)
		default: // table descriptions lag
			if !pause.For(ctx, time.Second/4) {
				return ctx.Err()
			}
		}
	}
}

// maxTableDelay is the time within which a table has to show a completed step.
const maxTableDelay = time.Minute

func (a *Admin) do(ctx context.Context, s TableStep) error {
	ctx, cancel := a.request(ctx)
	defer cancel()
	var err error
	if s.create != nil {
		_, err = a.table.Client(s.Region).CreateTable(ctx, s.create, a.table.Options)
	} else {
		_, err = a.table.Client(s.Region).UpdateTable(ctx, s.update, a.table.Options)
	}
	var busy *types.ResourceInUseException
	if err == nil || errors.As(err, &busy) { // busy: the answer was lost, or another process does the step
		return nil
	}
	return a.table.ClassifyError(s.Region, err)
}

// awaitTable waits until no part of the table is being created.
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
