package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/internal/pace"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// ResourceImport says where the resources of a file go.
type ResourceImport struct {
	Client, Pool, Region string
	// ID is of the file's contents, and names the place in the table where it is kept how far the import came. Defaults to
	// none: then it begins at the first line each time, which is slower and does no harm.
	ID string
	// MaxRate is how many are put in a second, at most. Defaults to what the table takes: it begins with StartRate, soon doubles
	// until DynamoDB throttles, and from then on keeps near what it takes.
	MaxRate int
	// Rejected is told of each line that is no resource. Progress is told now and then.
	Rejected func(line int64, why error)
	Progress func(ImportProgress)
}

// StartRate is how many resources a second an import begins with: what a new table of DynamoDB takes.
const StartRate = 4000

// ImportProgress is how far an import is. Lines is the sum of the others but Throttled.
type ImportProgress struct {
	Lines      int64 `json:"lines"`
	Earlier    int64 `json:"before"` // put in by an earlier run that was interrupted
	Created    int64 `json:"created"`
	Existing   int64 `json:"there"`     // before, as they should be
	OtherPlace int64 `json:"elsewhere"` // of another pool or region, and left there
	Retired    int64 `json:"retired"`   // and left so
	Blank      int64 `json:"blank"`
	Rejected   int64 `json:"rejected"`
	Throttled  int64 `json:"throttled"` // attempts that DynamoDB refused for their number, and that were made again
	Rate       int   `json:"-"`         // a second, allowed now
}

const (
	writers    = 32
	batchTries = 12 // of one batch that makes no progress
	checkpoint = 2 * time.Second
)

// importer is an import under way.
type importer struct {
	a     *Admin
	from  ResourceImport
	pool  Pool
	pace  *pace.Limiter
	begun int64 // lines put in before

	mu    sync.Mutex
	sum   ImportProgress
	ended map[int64]int64 // batches that ended out of turn: first line to the one after the last
	upTo  int64           // all lines before it are done
}

// batch is some lines of the file.
type batch struct {
	first, next int64 // lines
	items       []table.Item
}

// ImportResources puts a resource in for each line of a file, where none has its name. What is there is left as it is.
// After an error, or a crash, the same import goes on where it was.
func (a *Admin) ImportResources(ctx context.Context, in io.Reader, from ResourceImport) (ImportProgress, error) {
	im := &importer{a: a, from: from, ended: map[int64]int64{}, pace: pace.New(StartRate, table.MaxInsert, from.MaxRate)}
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

// target looks whether resources can be put there, and by us: two who put through two regions would not see each other.
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

// read makes batches of lines.
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
			return fmt.Errorf("line %d cannot be read: %w", line+1, err)
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

// readLine reads a line, but of one that is far too long its beginning only. The error is io.EOF after the last.
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

// add makes a line a row.
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

// newResourceItem is the row of a resource that nobody knows yet.
func (a *Admin) newResourceItem(name string, pool *Pool, region string) table.Item {
	item := table.PrimaryKey(lease.ResourceRow(pool.Client, name))
	item[table.Version], item[table.Available] = table.N(1), table.N(time.Now().UnixMilli())
	item[table.Owner], item[table.WriterRegion] = table.S(region), table.S(a.home())
	item[table.PoolID], item[table.Bucket] = table.S(pool.Pool), pool.drawBucket(region)
	return item
}

// put puts a batch in, as often as it takes.
func (im *importer) put(ctx context.Context, b batch) error {
	for tries := 0; len(b.items) > 0; tries++ {
		if err := im.pace.Wait(ctx, len(b.items)); err != nil {
			return err
		}
		left, err := im.try(ctx, b.items)
		if err != nil && (tries >= batchTries || !errors.Is(err, table.ErrThrottled) && !errors.Is(err, table.ErrUnavailable)) {
			return fmt.Errorf("lines %d to %d: %w", b.first+1, b.next, err)
		}
		if len(left) < len(b.items) {
			tries = 0
		}
		b.items = left
		if err != nil {
			if !pause.For(ctx, rand.N(50*time.Millisecond<<min(tries, 7))) {
				return ctx.Err()
			}
		}
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	im.ended[b.first] = b.next
	for next, ok := im.ended[im.upTo]; ok; next, ok = im.ended[im.upTo] {
		delete(im.ended, im.upTo)
		im.upTo = next
	}
	return nil
}

// try sends items once, and gives those that were not put, with the reason of one.
func (im *importer) try(ctx context.Context, items []table.Item) (left []table.Item, err error) {
	there := map[lease.PrimaryKey]table.Item{}
	var list []table.Inserted
	err = im.a.viaHome(ctx, func(ctx context.Context) error {
		known, err := im.a.findInOtherRegions(ctx, items)
		for key, found := range known {
			im.count(func(s *ImportProgress) { s.Lines++; *im.outcome(s, found, im.itemOf(items, key))++ })
		}
		if len(known) > 0 {
			items = slices.DeleteFunc(slices.Clone(items), func(item table.Item) bool { return known[primary(item)] != nil })
		}
		if err == nil && len(items) > 0 {
			list, err = im.a.table.Insert(ctx, im.a.home(), items)
		}
		return err
	})
	if err != nil {
		if errors.Is(err, table.ErrThrottled) {
			im.throttled(len(items))
		}
		return items, err
	}
	var created int64
	for i, one := range list {
		switch {
		case one.Existed:
			there[primary(items[i])] = items[i]
		case one.Err == nil:
			created++
		default:
			if left, err = append(left, items[i]), one.Err; errors.Is(err, table.ErrThrottled) {
				im.throttled(1)
			}
		}
	}
	im.count(func(s *ImportProgress) { s.Lines += created; s.Created += created })
	if len(there) == 0 {
		return left, err
	}
	found, readErr := im.a.table.GetAll(ctx, im.a.home(), slices.Collect(maps.Keys(there)))
	for key, item := range there {
		if readErr != nil {
			left, err = append(left, item), readErr // it is asked again, which does no harm
			continue
		}
		im.count(func(s *ImportProgress) { s.Lines++; *im.outcome(s, found[key], item)++ })
	}
	return left, err
}

// itemOf is the one of that key.
func (im *importer) itemOf(items []table.Item, key lease.PrimaryKey) table.Item {
	return items[slices.IndexFunc(items, func(item table.Item) bool { return primary(item) == key })]
}

func primary(item table.Item) lease.PrimaryKey {
	return lease.PrimaryKey{Partition: table.Text(item, table.PK), Sort: table.Text(item, table.SK)}
}

// outcome is what a row that is there is counted as.
func (im *importer) outcome(s *ImportProgress, found, item table.Item) *int64 {
	text := func(name string) bool { return table.Text(found, name) == table.Text(item, name) }
	row, err := table.Row(found)
	switch {
	case err == nil && row.Version > 0 && row.Holder == "" && row.Available == 0:
		return &s.Retired
	case !text(table.PoolID) || !text(table.Owner):
		return &s.OtherPlace
	default:
		return &s.Existing
	}
}

func (im *importer) throttled(n int) {
	im.pace.Throttled(n)
	im.count(func(s *ImportProgress) { s.Throttled += int64(n) })
}

func (im *importer) count(change func(*ImportProgress)) {
	im.mu.Lock()
	defer im.mu.Unlock()
	change(&im.sum)
}

// reportLoop says how far it is, in the table and to the caller.
func (im *importer) reportLoop(ctx context.Context, done <-chan struct{}) error {
	shown, kept := time.NewTicker(200*time.Millisecond), time.NewTicker(checkpoint)
	defer shown.Stop()
	defer kept.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			im.progress()
			return nil
		case <-shown.C:
			im.progress()
		case <-kept.C:
			if err := im.saveProgress(ctx); err != nil {
				return err
			}
		}
	}
}

func (im *importer) progress() {
	if im.from.Progress != nil {
		im.mu.Lock()
		s := im.sum
		im.mu.Unlock()
		s.Rate = im.pace.Rate()
		im.from.Progress(s)
	}
}

// saveProgress writes down how far it is. Two that import one file at once both say what is true.
func (im *importer) saveProgress(ctx context.Context) error {
	im.mu.Lock()
	upTo := im.upTo
	im.mu.Unlock()
	if im.from.ID == "" || upTo == im.begun {
		return nil
	}
	item := table.PrimaryKey(lease.ImportRow(im.from.Client, im.from.ID))
	item[table.Lines], item[table.UpdatedMs] = table.N(upTo), table.N(time.Now().UnixMilli())
	_, _, err := im.a.table.Put(ctx, im.a.home(), item, table.AnyVersion())
	return err
}

// imported is how many lines of a file were put in before.
func (a *Admin) imported(ctx context.Context, client, id string) (int64, error) {
	if id == "" {
		return 0, nil
	}
	item, err := a.table.Get(ctx, a.home(), lease.ImportRow(client, id))
	if err != nil || item == nil {
		return 0, err
	}
	n, err := table.Number(item, table.Lines)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", table.ErrTable, err)
	}
	return n, nil
}
