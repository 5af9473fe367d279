package agent

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// pool is what the agent knows of a pool: its settings, and resources of it that were available when last looked.
type pool struct {
	a            *Agent
	client, name string
	settings     atomic.Pointer[settings]
	reading      atomic.Bool // the settings, behind the callers' backs

	mu         sync.Mutex
	candidates []lease.Candidate
	read       time.Time // when
	filling    bool
	empty      time.Time // when no sub-partition had any
	refusals   refusals
}

// maxBucketRows is how many rows of a shelf are looked at; a candidate is any of them, since those who all take the first one only
// get in each other's way.
const maxBucketRows = 200

// pick gives a candidate, reading the index if none is left.
func (p *pool) pick(ctx context.Context, call *Call) (lease.Candidate, bool, error) {
	if c, ok := p.take(); ok {
		return c, true, nil
	}
	if p.exhausted() {
		return lease.Candidate{}, false, nil
	}
	found, err := p.readCandidates(ctx, call)
	if err != nil || len(found) == 0 {
		return lease.Candidate{}, false, err
	}
	p.put(found[1:]) // others may be faster with those
	return found[0], true, nil
}

// take takes a candidate out of memory, and has more of them read when few are left.
func (p *pool) take() (lease.Candidate, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.read) > p.a.cfg.CandidateTTL {
		p.candidates = p.candidates[:0]
	}
	n := len(p.candidates)
	if n == 0 {
		return lease.Candidate{}, false
	}
	c := p.candidates[n-1]
	p.candidates = p.candidates[:n-1]
	if n <= p.a.cfg.Candidates/4 && !p.filling {
		p.filling = true
		p.a.goBackground(p.prefetch)
	}
	return c, true
}

func (p *pool) put(found []lease.Candidate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.candidates, p.read = append(p.candidates[:0], found...), time.Now()
}

// exhausted says whether all sub-partitions were seen empty a moment ago. Those who are refused ask again, and each would
// ask all of them.
func (p *pool) exhausted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.empty) < p.a.cfg.CandidateTTL/20
}

// prefetch reads candidates behind the callers' backs.
func (p *pool) prefetch(ctx context.Context) {
	found, err := p.readCandidates(ctx, &Call{})
	p.a.logOutage("read candidates of "+p.client+"/"+p.name, err)
	p.mu.Lock()
	p.filling = false
	p.mu.Unlock()
	if len(found) > 0 {
		p.put(found)
	}
}

// readCandidates reads candidates from two sub-partitions drawn at random, and from others only when those have none: more and more
// at a time, so that a pool of a thousand that is nearly empty is looked through in 20 times what one takes.
func (p *pool) readCandidates(ctx context.Context, call *Call) ([]lease.Candidate, error) {
	shelves := rand.Perm(p.settings.Load().Buckets)
	var found []lease.Candidate
	for wave := 2; len(shelves) > 0 && len(found) == 0; wave = min(4*wave, 64) {
		n := min(wave, len(shelves))
		call.RoundTrips += n
		lists := make([][]lease.Candidate, n)
		g, ctx := errgroup.WithContext(ctx)
		for i, shelf := range shelves[:n] {
			g.Go(func() (err error) {
				lists[i], err = p.readBucket(ctx, shelf)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		found, shelves = slices.Concat(lists...), shelves[n:]
	}
	if len(found) == 0 {
		p.mu.Lock()
		p.empty = time.Now()
		p.mu.Unlock()
	}
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(len(found), p.a.cfg.Candidates)], nil
}

// readBucket reads what the index shows of one sub-partition, from one end or the other.
func (p *pool) readBucket(ctx context.Context, n int) (found []lease.Candidate, err error) {
	now := time.Now().UnixMilli()
	q := p.available(n, now, maxBucketRows)
	q.ScanIndexForward = aws.Bool(rand.IntN(2) == 0)
	items, err := p.a.table.Pages(ctx, p.a.cfg.Region, q)
	if err != nil {
		return nil, err
	}
	offer := lease.Write{Rule: &p.a.rules.Offered, Args: lease.Row{Owner: p.a.cfg.Region}, Now: now, Skew: p.a.cfg.Skew.Milliseconds()}
	for _, item := range items {
		row, err := table.Row(item)
		resource := table.Text(item, table.SK)
		if err != nil || resource == "" || !offer.Holds(&row) {
			continue // edited by hand, or of another region: not for us
		}
		found = append(found, lease.Candidate{Resource: resource, Version: row.Version})
	}
	return found, nil
}

// available asks the index for what is available of one sub-partition.
func (p *pool) available(n int, now int64, limit int32) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &p.a.cfg.Table, IndexName: aws.String(table.AvailableIndex), Limit: aws.Int32(limit),
		KeyConditionExpression:   aws.String("#shard = :shard AND #available <= :now"),
		ExpressionAttributeNames: map[string]string{"#shard": table.Bucket, "#available": table.Available},
		ExpressionAttributeValues: table.Item{
			":shard": table.S(lease.Bucket(p.client, p.name, p.a.cfg.Region, n)), ":now": table.N(now),
		},
	}
}

// clamp gives the end of a lease that the pool allows, and whether that is an earlier one.
func (p *pool) clamp(expires time.Time) (time.Time, bool) {
	if longest := time.Now().Add(p.settings.Load().LongestLease); expires.After(longest) {
		return longest, true
	}
	return expires, false
}
