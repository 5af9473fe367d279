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

// pool is a pool with its settings, and candidates that were read ahead.
type pool struct {
	a            *Agent
	client, name string
	settings     atomic.Pointer[settings]
	reading      atomic.Bool // settings are being read in the background

	mu         sync.Mutex
	candidates []lease.Candidate
	read       time.Time // of candidates
	filling    bool
	empty      time.Time // when all buckets were last found empty
	refusals   refusals
}

// maxBucketRows is the number of entries that are read from a bucket. Candidates are chosen at
// random from them, since agents that all take the first entry conflict with each other.
const maxBucketRows = 200

// pick returns a candidate. It reads the index if none is in memory.
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
	p.put(found[1:])
	return found[0], true, nil
}

// take takes a candidate from memory, and starts a prefetch when few are left.
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

// exhausted reports whether all buckets were found empty a moment ago. Refused callers ask again,
// and each would read all buckets.
func (p *pool) exhausted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.empty) < p.a.cfg.CandidateTTL/20
}

// prefetch reads candidates in the background.
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

// readCandidates reads candidates from two random buckets. If those are empty it reads more
// buckets, four times as many in each round, so a nearly empty pool of 1,000 buckets takes 20
// rounds.
func (p *pool) readCandidates(ctx context.Context, call *Call) ([]lease.Candidate, error) {
	buckets := rand.Perm(p.settings.Load().Buckets)
	var found []lease.Candidate
	for wave := 2; len(buckets) > 0 && len(found) == 0; wave = min(4*wave, 64) {
		n := min(wave, len(buckets))
		call.RoundTrips += n
		lists := make([][]lease.Candidate, n)
		g, ctx := errgroup.WithContext(ctx)
		for i, bucket := range buckets[:n] {
			g.Go(func() (err error) {
				lists[i], err = p.readBucket(ctx, bucket)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		found, buckets = slices.Concat(lists...), buckets[n:]
	}
	if len(found) == 0 {
		p.mu.Lock()
		p.empty = time.Now()
		p.mu.Unlock()
	}
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(len(found), p.a.cfg.Candidates)], nil
}

// readBucket reads candidates of one bucket, from one end of the index partition or the other.
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
			continue // the entry is invalid, or of another region
		}
		found = append(found, lease.Candidate{Resource: resource, Version: row.Version})
	}
	return found, nil
}

// available returns the query for the available resources of one bucket.
func (p *pool) available(n int, now int64, limit int32) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &p.a.cfg.Table, IndexName: aws.String(table.AvailableIndex), Limit: aws.Int32(limit),
		KeyConditionExpression:   aws.String("#bucket = :bucket AND #available <= :now"),
		ExpressionAttributeNames: map[string]string{"#bucket": table.Bucket, "#available": table.AvailableMs},
		ExpressionAttributeValues: table.Item{
			":bucket": table.S(lease.Bucket(p.client, p.name, p.a.cfg.Region, n)), ":now": table.N(now),
		},
	}
}

// clamp limits the end of a lease to the pool's maximum lease term, and reports whether it had to.
func (p *pool) clamp(expires time.Time) (time.Time, bool) {
	if longest := time.Now().Add(p.settings.Load().LongestLease); expires.After(longest) {
		return longest, true
	}
	return expires, false
}
