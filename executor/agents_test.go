package executor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/stream"
)

// TestBesideAgents runs agents that lease, renew and release, beside a liberator that sends each
// command up to three times, on a table with faults of every kind. The stream of the table shows:
// each row advances one version at a time, a command that is DONE made the version after its own,
// no resource is available before its lease's end and the quarantine, and no resource changes from
// one key to another directly.
func TestBesideAgents(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { besideAgents(t, seed) })
		})
	}
}

func besideAgents(t *testing.T, seed uint64) {
	const resources, span = 12, 60 * time.Second
	w := newFixture(t, hostile())
	defer w.cloud.Close()
	w.settle()
	for i := range resources {
		w.set(lease.ResourceRow("c", fmt.Sprint("r", i)), lease.Row{Version: 1, Owner: "eu", Available: 1})
	}
	if err := w.cloud.SetFaults(hostile().Faults...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), span)
	defer cancel()
	var all sync.WaitGroup
	for n := range 3 {
		a, err := agent.New(agent.Config{
			Region: "eu", Table: testTable, Skew: 500 * time.Millisecond, Attempts: 2,
			Client: func(region string) *dynamodb.Client { return w.cloud.Region(region).Client() },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		all.Go(func() { useLeases(ctx, a, rand.New(rand.NewPCG(seed, uint64(n)))) })
	}
	l := &liberator{t: t, w: w, e: w.executor(), rng: rand.New(rand.NewPCG(seed, 77)), sent: map[string]*eventspb.LeaseCommand{}}
	l.run(time.Now().Add(span))
	all.Wait()
	l.calls.Wait()
	l.check()
}

// useLeases leases keys for a short time, and renews or releases some of them.
func useLeases(ctx context.Context, a *agent.Agent, rng *rand.Rand) {
	for ctx.Err() == nil {
		key := fmt.Sprint("k", rng.IntN(10))
		held, err := a.GetLease(ctx, "c", "p", key, time.Now().Add(time.Duration(1500+rng.IntN(2000))*time.Millisecond))
		if err == nil {
			switch rng.IntN(4) {
			case 0:
				_, err = a.Renew(ctx, held, time.Now().Add(3*time.Second))
			case 1:
				err = a.Release(ctx, held)
			}
		}
		_ = err // the stream shows which writes were made
		<-time.After(time.Duration(rng.IntN(300)) * time.Millisecond)
	}
}

// liberator reads all rows and sends commands for the leases that have ended.
type liberator struct {
	t     *testing.T
	w     *fixture
	e     *Executor
	rng   *rand.Rand
	calls sync.WaitGroup
	sent  map[string]*eventspb.LeaseCommand
}

func (l *liberator) run(until time.Time) {
	for time.Now().Before(until) {
		for i := range 12 {
			name := fmt.Sprint("r", i)
			row := l.w.row(lease.ResourceRow("c", name))
			if row.Expires == 0 || row.Expires > time.Now().UnixMilli()+int64(l.rng.IntN(1000)) {
				continue
			}
			c := &eventspb.LeaseCommand{Id: fmt.Sprint(len(l.sent)), Client: "c", Pool: "p", Region: "eu", By: "liberator", Command: &eventspb.LeaseCommand_Liberate{
				Liberate: &eventspb.LeaseLiberate{Resource: name, Version: row.Version, ExpiresMs: row.Expires, AvailableMs: row.Expires + 1000, Buckets: 4},
			}}
			l.sent[c.Id] = c
			for range 1 + l.rng.IntN(3) {
				l.send(c, time.Duration(l.rng.IntN(400))*time.Millisecond)
			}
		}
		<-time.After(200 * time.Millisecond)
	}
}

func (l *liberator) send(c *eventspb.LeaseCommand, after time.Duration) {
	value, err := proto.Marshal(c)
	if err != nil {
		l.t.Fatal(err)
	}
	l.calls.Go(func() {
		<-time.After(after)
		for l.e.Do(context.Background(), &stream.SinkRecord{Value: value}) != nil {
			<-time.After(20 * time.Millisecond)
		}
	})
}

// check compares the results with the histories of the rows.
func (l *liberator) check() {
	for _, wrong := range misdeeds(l.w.history(), l.sent, l.w.results) {
		l.t.Error(wrong)
	}
	count := map[eventspb.LeaseOutcome]int{}
	for _, r := range l.w.results {
		count[r.Outcome]++
	}
	l.t.Log(count)
	if count[eventspb.LeaseOutcome_LEASE_OUTCOME_DONE] < 50 || count[eventspb.LeaseOutcome_LEASE_OUTCOME_STALE] == 0 || count[eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY] == 0 {
		l.t.Errorf("too few results of a kind: %v", count)
	}
}

// misdeeds returns what agents and the executor must not have done. history has the versions of
// each resource, sent the commands by id.
func misdeeds(history map[string]map[int64]lease.Row, sent map[string]*eventspb.LeaseCommand, results []*eventspb.LeaseResult) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	answered := map[string]bool{}
	for _, r := range results {
		answered[r.Id] = true
		c := sent[r.Id].GetLiberate()
		if c == nil {
			complain("a result of no command: %v", r)
			continue
		}
		before, after := history[c.Resource][c.Version], history[c.Resource][c.Version+1]
		if before.Expires != c.ExpiresMs {
			complain("command %v names the row %+v", c, before)
		}
		if r.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE &&
			(after.Holder != "" || after.Expires != 0 || after.Available != before.Expires+1000 || after.Owner != "eu") {
			complain("command %v made %+v from %+v", c, after, before)
		}
	}
	for id, c := range sent {
		if !answered[id] {
			complain("command %v has no result", c)
		}
	}
	for name, rows := range history {
		for v := int64(1); v <= int64(len(rows)); v++ {
			before, after := rows[v-1], rows[v]
			switch {
			case after.Version != v:
				complain("%s has no version %d", name, v)
			case before.Holder != "" && after.Holder == "" && after.Available < before.Expires+1000:
				complain("%s is available at %d after a lease to %d", name, after.Available, before.Expires)
			case before.Holder != "" && after.Holder != "" && before.Holder != after.Holder:
				complain("%s went from %s to %s", name, before.Holder, after.Holder)
			}
		}
	}
	return wrong
}

// history returns all versions of all resource rows, from the stream of eu.
func (w *fixture) history() map[string]map[int64]lease.Row {
	w.t.Helper()
	if err := w.cloud.SetFaults(); err != nil {
		w.t.Fatal(err)
	}
	<-time.After(time.Second)
	w.settle()
	ctx, s := context.Background(), w.cloud.Region("eu").StreamsClient()
	list, err := s.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: aws.String(testTable)})
	if err != nil {
		w.t.Fatal(err)
	}
	rows := map[string]map[int64]lease.Row{}
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: list.Streams[0].StreamArn}
	for {
		out, err := s.DescribeStream(ctx, in)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, shard := range out.StreamDescription.Shards {
			it, err := s.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
				StreamArn: in.StreamArn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
			})
			if err != nil {
				w.t.Fatal(err)
			}
			w.shard(s, it.ShardIterator, rows)
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return rows
		}
	}
}

func (w *fixture) shard(s *dynamodbstreams.Client, at *string, rows map[string]map[int64]lease.Row) {
	for at != nil {
		out, err := s.GetRecords(context.Background(), &dynamodbstreams.GetRecordsInput{ShardIterator: at})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range out.Records {
			name, row, err := resource(r.Dynamodb.NewImage)
			switch {
			case errors.Is(err, errOther):
				continue
			case err != nil:
				w.t.Fatal(err)
			}
			if rows[name] == nil {
				rows[name] = map[int64]lease.Row{}
			}
			if _, twice := rows[name][row.Version]; twice {
				w.t.Errorf("%s has two versions %d", name, row.Version)
			}
			rows[name][row.Version] = row
		}
		if len(out.Records) == 0 {
			return
		}
		at = out.NextShardIterator
	}
}

var errOther = errors.New("not the row of a resource")

// resource returns the resource row of an image in the stream.
func resource(image map[string]streamtypes.AttributeValue) (string, lease.Row, error) {
	item := table.Item{}
	for k, v := range image {
		switch v := v.(type) {
		case *streamtypes.AttributeValueMemberS:
			item[k] = table.S(v.Value)
		case *streamtypes.AttributeValueMemberN:
			item[k] = table.Decimal(v.Value)
		}
	}
	if pk := table.Text(item, table.PK); len(pk) < 2 || pk[:2] != "R#" {
		return "", lease.Row{}, errOther
	}
	row, err := table.Row(item)
	return table.Text(item, table.SK), row, err
}
