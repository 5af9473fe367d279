package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/internal/ratelimit"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// ResourceImport describes an import of resources, one name per line.
type ResourceImport struct {
	Client, Pool, Region string
	// ID identifies the content of the file. The progress of the import is stored under it, so that
	// an interrupted import resumes. Empty: it begins at the first line, which is slower and does
	// no harm.
	ID string
	// MaxRate is the maximum number of resources per second. Defaults to a rate that adapts to the
	// table: it begins with StartRate, doubles until DynamoDB throttles, and then stays near the
	// limit.
	MaxRate int
	// Rejected is called for each line that is not a valid name. Progress is called several times a
	// second. Both may be nil.
	Rejected func(line int64, why error)
	Progress func(ImportProgress)
}

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
	OtherPlace int64 `json:"elsewhere"` // exists in another pool or region; unchanged
	Retired    int64 `json:"retired"`   // exists and is retired; unchanged
	Blank      int64 `json:"blank"`
	Rejected   int64 `json:"rejected"`
	Throttled  int64 `json:"throttled"` // attempts that DynamoDB throttled; each was repeated
	Rate       int   `json:"-"`         // present limit, per second
}

const (
	writers    = 32
	batchTries = 12 // attempts of a batch without progress
	checkpoint = 2 * time.Second
)

// importer is an import in progress.
type importer struct {
	a       *Admin
	from    ResourceImport
	pool    Pool
	limiter *ratelimit.Limiter
	begun   int64 // lines that an earlier run has imported

	mu    sync.Mutex
	sum   ImportProgress
	ended map[int64]int64 // completed batches after a gap: first line to the line after the last
	upTo  int64           // all lines before it are complete
}

// batch is a range of lines with its items.
type batch struct {
	first, next int64 // first line, and the line after the last
	items       []table.Item
}

// ImportResources adds a resource for each line of a file, unless one with its name exists.
// Existing resources are not changed. After an error or a crash, the same import can be repeated.
func (a *Admin) ImportResources(ctx context.Context, in io.Reader, from ResourceImport) (ImportProgress, error) {
	im := &importer{a: a, from: from, ended: map[int64]int64{}, limiter: ratelimit.New(StartRate, table.MaxInsert, from.MaxRate)}
	var err error
	if im.pool, err = a.target(ctx, from.Client, from.Pool, from.Region); err != nil {
		return ImportProgress{}, err
	}
	if im.begun, err = a.imported(ctx, from.Client, from.ID); err != nil {
		return ImportProgress{}, err
	}
	im.upTo = im.begun
	batches := make(chan batch)
	done := make(chan struct{})
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(batches)
		return im.read(gctx, in, batches)
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
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.table.Timeout)
	defer cancel()
	err = errors.Join(err, im.saveProgress(keep))
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

// read reads the lines into batches.
func (im *importer) read(ctx context.Context, in io.Reader, to chan<- batch) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	b := batch{first: im.begun}
	seen := map[string]bool{}
	send := func(next int64) error {
		b.next = next
		select {
		case to <- b:
			b = batch{first: next}
			clear(seen)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for line := int64(0); ; line++ {
		name, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return send(line)
		}
		if err != nil {
			return fmt.Errorf("read line %d: %w", line+1, err)
		}
		if line < im.begun {
			im.count(func(s *ImportProgress) { s.Lines++; s.Earlier++ })
			continue
		}
		im.add(&b, line, strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")), seen)
		if len(b.items) == table.MaxInsert || line-b.first > 100*table.MaxInsert {
			if err := send(line + 1); err != nil {
				return err
			}
		}
	}
}

// readLine reads a line; of a line that exceeds the buffer only the begin. After the last line it
// returns io.EOF.
func readLine(from *bufio.Reader) (string, error) {
	text, err := from.ReadSlice('\n')
	line := string(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = from.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	return line, err
}

// add adds the item of a line to a batch.
func (im *importer) add(b *batch, line int64, name string, seen map[string]bool) {
	switch err := lease.CheckName("resource", name, lease.MaxKey); {
	case name == "":
		im.count(func(s *ImportProgress) { s.Lines++; s.Blank++ })
	case err != nil:
		im.count(func(s *ImportProgress) { s.Lines++; s.Rejected++ })
		if im.from.Rejected != nil {
			im.from.Rejected(line+1, err)
		}
	case seen[name]:
		im.count(func(s *ImportProgress) { s.Lines++; s.Existing++ })
	default:
		seen[name] = true
		b.items = append(b.items, im.a.newResourceItem(name, &im.pool, im.from.Region))
	}
}

// newResourceItem returns the item of a new resource.
func (a *Admin) newResourceItem(name string, pool *Pool, region string) table.Item {
	item := table.PrimaryKey(lease.ResourceRow(pool.Client, name))
	item[table.Version], item[table.AvailableMs] = table.N(1), table.N(time.Now().UnixMilli())
	item[table.Owner], item[table.WriterRegion] = table.S(region), table.S(a.home())
	item[table.PoolID], item[table.Bucket] = table.S(pool.Pool), pool.drawBucket(region)
	return item
}
