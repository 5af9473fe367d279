package admin

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/lease"
	leasetable "github.com/weirhq/weir/lease/table"
)

// ResourceFilter selects resources. Zero fields select all.
type ResourceFilter struct {
	Pool, Region string
	State        State
	Prefix       string // begin of the name
	Key          string // key that has the lease
	InUse        bool   // not retired
	Limit        int    // maximum number of results

	// ReadRegion is the region whose replica is read. Defaults to the home region.
	ReadRegion string
}

// readers is the number of partitions that are read concurrently.
const readers = 8

// Resources calls yield for each resource of a client that f selects, in no order, until yield
// returns an error. It reads all resource rows of the client in the home region, or in
// f.ReadRegion. Rows of resources that other regions own may lag.
func (a *Admin) Resources(ctx context.Context, client string, f ResourceFilter, yield func(Resource) error) error {
	if err := invalid(lease.CheckName("client", client, lease.MaxName)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make(chan []Resource)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readers + 1)
	g.Go(func() error {
		for n := range lease.ResourcePartitions {
			g.Go(func() error { return a.readPartition(gctx, client, n, f, found) })
		}
		return nil
	})
	ended := make(chan error, 1)
	go func() {
		ended <- g.Wait()
		close(found)
	}()
	n, err := 0, error(nil)
	for list := range found {
		for i := 0; i < len(list) && err == nil; i++ {
			if err = yield(list[i]); err == nil {
				if n++; n == f.Limit {
					err = errEnough
				}
			}
		}
		if err != nil {
			cancel() // the loop drains the channel
		}
	}
	failed := <-ended
	switch {
	case err == errEnough: //nolint:errorlint // never wrapped
		return nil
	case err != nil:
		return err
	}
	return failed
}

var errEnough = fmt.Errorf("enough")

// readPartition reads one partition of the client's resources.
func (a *Admin) readPartition(ctx context.Context, client string, n int, f ResourceFilter, to chan<- []Resource) error {
	q := f.query(a.table.Name, lease.ResourcePartition(client, n))
	at := cmp.Or(f.ReadRegion, a.home())
	for {
		out, err := a.table.Page(ctx, at, q)
		if err != nil {
			return err
		}
		var list []Resource
		for _, item := range out.Items {
			r, err := resourceOf(client, item)
			if err != nil {
				return err
			}
			if (f.State == "" || r.State == f.State) && (!f.InUse || r.State != Retired) && (f.Key == "" || r.Key == f.Key) {
				list = append(list, r)
			}
		}
		if len(list) > 0 {
			select {
			case to <- list:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if q.ExclusiveStartKey = out.LastEvaluatedKey; len(q.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// query returns the query with the conditions that DynamoDB can evaluate. States depend on the time
// and are not among them.
func (f *ResourceFilter) query(table, partition string) *dynamodb.QueryInput {
	q := &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": leasetable.PK},
		ExpressionAttributeValues: leasetable.Item{":pk": leasetable.S(partition)},
	}
	if f.Prefix != "" {
		q.KeyConditionExpression = aws.String("#pk = :pk AND begins_with(#sk, :prefix)")
		q.ExpressionAttributeNames["#sk"], q.ExpressionAttributeValues[":prefix"] = leasetable.SK, leasetable.S(f.Prefix)
	}
	var filters []string
	for _, c := range []struct{ name, alias, value string }{{leasetable.PoolID, "pool", f.Pool}, {leasetable.Owner, "owner", f.Region}} {
		if c.value != "" {
			filters = append(filters, "#"+c.alias+" = :"+c.alias)
			q.ExpressionAttributeNames["#"+c.alias], q.ExpressionAttributeValues[":"+c.alias] = c.name, leasetable.S(c.value)
		}
	}
	if f.State == Leased {
		filters, q.ExpressionAttributeNames["#holder"] = append(filters, "attribute_exists(#holder)"), leasetable.Holder
	}
	if len(filters) > 0 {
		q.FilterExpression = aws.String(strings.Join(filters, " AND "))
	}
	return q
}
