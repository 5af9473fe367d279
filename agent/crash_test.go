package agent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// mortal returns clients that fail from one request on: before it is sent, or after its answer.
type mortal struct {
	left     atomic.Int32
	answered bool
}

var errDead = errors.New("this process is dead")

func (d *mortal) options(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("mortal", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			left := d.left.Add(-1)
			if left < 0 || left == 0 && !d.answered {
				return middleware.InitializeOutput{}, middleware.Metadata{}, errDead
			}
			out, meta, err := next.HandleInitialize(ctx, in)
			if left == 0 {
				return middleware.InitializeOutput{}, middleware.Metadata{}, errDead
			}
			return out, meta, err
		}), middleware.Before)
	})
}

// An agent may die at any of its requests. The key then gets one resource, and no resource stays
// held by another key.
func TestCrashAnywhere(t *testing.T) {
	for requests := range int32(12) {
		for _, answered := range []bool{false, true} {
			t.Run(fmt.Sprintf("request %d, answered %v", requests, answered), func(t *testing.T) {
				w := newFixture(t, dynamotest.Profile{}, "eu")
				w.register("eu", 5)
				d := &mortal{answered: answered}
				d.left.Store(requests)
				dying, err := New(Config{Region: "eu", Table: testTable, Client: func(region string) *dynamodb.Client {
					return w.cloud.Region(region).Client(d.options)
				}})
				if err != nil {
					t.Fatal(err)
				}
				first, err := dying.GetLease(t.Context(), "c", "p", "k", time.Now().Add(time.Minute))
				dying.Close()
				second := get(t.Context(), t, w.agent("eu"), "k", time.Minute)
				third := get(t.Context(), t, w.agent("eu"), "k", time.Minute)
				if err == nil && first.Resource != second.Resource || second.Resource != third.Resource {
					t.Errorf("one after the other: %s (%v), %s, %s", first.Resource, err, second.Resource, third.Resource)
				}
				if held := w.held(); len(held) != 1 || held[second.Resource] != lease.Holder("p", "k") {
					t.Errorf("held: %v, wanted %s alone", held, second.Resource)
				}
			})
		}
	}
}

// held returns the resource that each key holds.
func (w *fixture) held() map[string]string {
	w.t.Helper()
	out, err := w.cloud.Regions()[0].Client().Scan(w.t.Context(), &dynamodb.ScanInput{TableName: aws.String(testTable), ConsistentRead: aws.Bool(true)})
	if err != nil {
		w.t.Fatal(err)
	}
	held := map[string]string{}
	for _, item := range out.Items {
		row, err := table.Row(item)
		if err == nil && row.Holder != "" {
			held[table.Text(item, table.SK)] = row.Holder
		}
	}
	return held
}

// The requests of a call: none for a lease in memory, one for a lease in the table, three for a new
// lease.
func TestRoundTrips(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	w.register("eu", 50)
	var last atomic.Pointer[Call]
	observed := func(c *Config) { c.Observe = func(c Call) { last.Store(&c) } }
	a, b := w.agent("eu", observed), w.agent("eu", observed)
	get(t.Context(), t, a, "first", time.Minute) // settings and candidates are read
	get(t.Context(), t, b, "first", time.Minute)
	for _, step := range []struct {
		name string
		a    *Agent
		want int
	}{{"new", a, 3}, {"from memory", a, 0}, {"by another agent", b, 1}} {
		get(t.Context(), t, step.a, "k", time.Minute)
		step.a.running.Wait() // before the lease is settled, other processes would need more requests
		if got := last.Load().RoundTrips; got != step.want {
			t.Errorf("%s: %d round trips, want %d", step.name, got, step.want)
		}
	}
}
