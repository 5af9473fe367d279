package admin

import (
	"cmp"
	"context"
	"io"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/internal/ratelimit"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// ResourceImport describes an import of resources, one name per line.
type ResourceImport struct {
	Client, Pool, Region string
	// ID identifies the content of the file. The progress of the import is stored under it, so that
	// an interrupted import resumes. Rejected lines are tried again by each run. Empty: each run
	// begins at the first line, which is slower and does no harm.
	ID string
	// MaxRate is the maximum number of resources per second. Defaults to a rate that adapts to the
	// table: it begins with StartRate, doubles until DynamoDB throttles, and then stays near the
	// limit.
	MaxRate int
	// MaxOutage is the time without success after which the import gives up, if DynamoDB does not
	// answer or throttles each attempt. Defaults to an hour.
	MaxOutage time.Duration
	// Rejected is called for each line that is not a valid name, and for each that names a resource
	// of another pool. Its error ends the import. Progress is called several times a second. Outage
	// is called when DynamoDB has not answered for some seconds, then once a minute, and when it
	// answers again. Each is called by one goroutine at a time, and may be nil.
	Rejected func(RejectedLine) error
	Progress func(ImportProgress)
	Outage   func(ImportOutage)
}

// RejectedLine is a line of an import for which no resource is added.
type RejectedLine struct {
	Line int64  // number of the line, from 1
	Text string // the line without its end; of a long line the beginning
	Err  error
}

// ImportOutage is a time in which DynamoDB does not answer. The import waits and tries again.
type ImportOutage struct {
	For time.Duration // since the first failure
	Err error         // of the last attempt; nil: DynamoDB answers again
}

// DefaultMaxOutage is the default of ResourceImport.MaxOutage.
const DefaultMaxOutage = time.Hour

// StartRate is the number of resources per second with which an import begins: the capacity of a
// new DynamoDB table.
const StartRate = 4000

// ImportProgress is the progress of an import. Lines is the sum of the other counts, without
// Throttled.
type ImportProgress struct {
	Lines      int64 `json:"lines"`
	Earlier    int64 `json:"before"` // imported by an earlier, interrupted run
	Created    int64 `json:"created"`
	Existing   int64 `json:"there"`     // exists already in the pool and region
	OtherPlace int64 `json:"elsewhere"` // exists in another region; unchanged
	Retired    int64 `json:"retired"`   // exists and is retired; unchanged
	Blank      int64 `json:"blank"`
	Rejected   int64 `json:"rejected"`  // not a valid name, or exists in another pool
	Throttled  int64 `json:"throttled"` // attempts that DynamoDB throttled; each was repeated
	Rate       int   `json:"-"`         // present limit, per second
}

const (
	writers    = 32
	checkpoint = 2 * time.Second
)

// importer is an import in progress.
type importer struct {
	a       *Admin
	from    ResourceImport
	pool    Pool
	limiter *ratelimit.Limiter
	earlier progress // of earlier runs

	outages   logthrottle.Tracker
	reporting sync.Mutex // held during a call of from.Rejected or from.Outage

	mu       sync.Mutex
	sum      ImportProgress
	ended    map[int64]int64 // completed batches after a gap: first line to the line after the last
	upTo     int64           // all lines before it are complete
	rejected map[int64]bool  // numbers, from 1, of lines whose resource is in another pool
}

// batch is a range of lines with its items.
type batch struct {
	first, next int64 // first line, and the line after the last
	items       []table.Item
	lines       map[string]int64 // the line of each item, by the name of its resource
}

// ImportResources adds a resource for each line of a file, unless one with its name exists.
// Existing resources are not changed. After an error or a crash, the same import can be repeated.
func (a *Admin) ImportResources(ctx context.Context, in io.Reader, from ResourceImport) (ImportProgress, error) {
	from.MaxOutage = cmp.Or(from.MaxOutage, DefaultMaxOutage)
	im := &importer{a: a, from: from, ended: map[int64]int64{}, limiter: ratelimit.New(StartRate, table.MaxInsert, from.MaxRate)}
	var err error
	if im.pool, err = a.target(ctx, from.Client, from.Pool, from.Region); err != nil {
		return ImportProgress{}, err
	}
	if im.earlier, err = a.imported(ctx, from.Client, from.ID); err != nil {
		return ImportProgress{}, err
	}
	im.upTo, im.rejected = im.earlier.lines, im.earlier.rejectedLines()
	again := maps.Clone(im.rejected) // which batches change
	batches := make(chan batch)
	done := make(chan struct{})
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(batches)
		return im.read(gctx, in, again, batches)
	})
	var working sync.WaitGroup
	working.Add(writers)
	for range writers {
		g.Go(func() error {
			defer working.Done()
			for b := range batches {
				if err := im.put(gctx, b); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		working.Wait()
		close(done)
		return nil
	})
	g.Go(func() error { return im.reportLoop(gctx, done) })
	err = g.Wait()
	err = im.saveAtEnd(ctx, err)
	im.mu.Lock()
	defer im.mu.Unlock()
	return im.sum, err
}

// target returns the pool of new resources, after a check that this Admin may write there.
func (a *Admin) target(ctx context.Context, client, pool, region string) (Pool, error) {
	if _, err := Get(ctx, a, Region{Region: region}); err != nil {
		return Pool{}, err
	}
	p, err := Get(ctx, a, Pool{Client: client, Pool: pool})
	if err == nil {
		err = a.checkWriter(&p, p.writer)
	}
	return p, err
}

// newResourceItem returns the item of a new resource.
func (a *Admin) newResourceItem(name string, pool *Pool, region string) table.Item {
	item := table.PrimaryKey(lease.ResourceRow(pool.Client, name))
	item[table.Version], item[table.AvailableMs] = table.N(1), table.N(time.Now().UnixMilli())
	item[table.Owner], item[table.WriterRegion] = table.S(region), table.S(a.home())
	item[table.PoolID], item[table.Bucket] = table.S(pool.Pool), pool.drawBucket(region)
	return item
}
