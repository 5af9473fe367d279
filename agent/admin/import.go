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

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
	"github.com/weirhq/weir/internal/pace"
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
	Progress func(Imported)
}

// StartRate is how many resources a second an import begins with: what a new table of DynamoDB takes.
const StartRate = 4000

// Imported is how far an import is. Lines is the sum of the others but Throttled.
type Imported struct {
	Lines     int64 `json:"lines"`
	Before    int64 `json:"before"` // put in by an earlier run that was interrupted
	Created   int64 `json:"created"`
	There     int64 `json:"there"`     // before, as they should be
	Elsewhere int64 `json:"elsewhere"` // of another pool or region, and left there
	Retired   int64 `json:"retired"`   // and left so
	Blank     int64 `json:"blank"`
	Rejected  int64 `json:"rejected"`
	Throttled int64 `json:"throttled"` // attempts that DynamoDB refused for their number, and that were made again
	Rate      int   `json:"-"`         // a second, allowed now
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
	sum   Imported
	ended map[int64]int64 // batches that ended out of turn: first line to the one after the last
	upTo  int64           // all lines before it are done
}

// batch is some lines of the file.
type batch struct {
	first, next int64 // lines
	items       []leasetable.Item
}

// ImportResources puts a resource in for each line of a file, where none has its name. What is there is left as it is.
// After an error, or a crash, the same import goes on where it was.
func (a *Admin) ImportResources(ctx context.Context, in io.Reader, from ResourceImport) (Imported, error) {
	im := &importer{a: a, from: from, ended: map[int64]int64{}, pace: pace.New(StartRate, leasetable.MaxInsert, from.MaxRate)}
	var err error
	if im.pool, err = a.target(ctx, from.Client, from.Pool, from.Region); err != nil {
		return Imported{}, err
	}
	if im.begun, err = a.imported(ctx, from.Client, from.ID); err != nil {
		return Imported{}, err
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
	g.Go(func() error { return im.tell(gctx, done) })
	err = g.Wait()
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.table.Timeout)
	defer cancel()
	err = errors.Join(err, im.keep(keep))
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
		err = a.mine(&p, p.writer)
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
			im.count(func(s *Imported) { s.Lines++; s.Before++ })
			continue
		}
		im.add(&b, line, strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")), seen)
		if len(b.items) == leasetable.MaxInsert || line-b.first > 100*leasetable.MaxInsert {
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
		im.count(func(s *Imported) { s.Lines++; s.Blank++ })
	case err != nil:
		im.count(func(s *Imported) { s.Lines++; s.Rejected++ })
		if im.from.Rejected != nil {
			im.from.Rejected(line+1, err)
		}
	case seen[name]:
		im.count(func(s *Imported) { s.Lines++; s.There++ })
	default:
		seen[name] = true
		b.items = append(b.items, im.a.fresh(name, &im.pool, im.from.Region))
	}
}

// fresh is the row of a resource that nobody knows yet.
func (a *Admin) fresh(name string, pool *Pool, region string) leasetable.Item {
	item := leasetable.PrimaryKey(lease.ResourceRow(pool.Client, name))
	item[leasetable.Version], item[leasetable.Available] = leasetable.N(1), leasetable.N(time.Now().UnixMilli())
	item[leasetable.Owner], item[leasetable.WriterRegion] = leasetable.S(region), leasetable.S(a.home())
	item[leasetable.PoolID], item[leasetable.Shard] = leasetable.S(pool.Pool), pool.shelf(region)
	return item
}

// put puts a batch in, as often as it takes.
func (im *importer) put(ctx context.Context, b batch) error {
	for tries := 0; len(b.items) > 0; tries++ {
		if err := im.pace.Wait(ctx, len(b.items)); err != nil {
			return err
		}
		left, err := im.try(ctx, b.items)
		if err != nil && (tries >= batchTries || !errors.Is(err, leasetable.ErrThrottled) && !errors.Is(err, leasetable.ErrUnavailable)) {
			return fmt.Errorf("lines %d to %d: %w", b.first+1, b.next, err)
		}
		if len(left) < len(b.items) {
			tries = 0
		}
		b.items = left
		if err != nil {
			if err := pause(ctx, rand.N(50*time.Millisecond<<min(tries, 7))); err != nil {
				return err
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
func (im *importer) try(ctx context.Context, items []leasetable.Item) (left []leasetable.Item, err error) {
	there := map[lease.Primary]leasetable.Item{}
	var list []leasetable.Inserted
	err = im.a.atHome(ctx, func(ctx context.Context) error {
		known, err := im.a.alsoThere(ctx, items)
		for key, found := range known {
			im.count(func(s *Imported) { s.Lines++; *im.outcome(s, found, im.itemOf(items, key))++ })
		}
		if len(known) > 0 {
			items = slices.DeleteFunc(slices.Clone(items), func(item leasetable.Item) bool { return known[primary(item)] != nil })
		}
		if err == nil && len(items) > 0 {
			list, err = im.a.table.Insert(ctx, im.a.home(), items)
		}
		return err
	})
	if err != nil {
		if errors.Is(err, leasetable.ErrThrottled) {
			im.throttled(len(items))
		}
		return items, err
	}
	var created int64
	for i, one := range list {
		switch {
		case one.There:
			there[primary(items[i])] = items[i]
		case one.Err == nil:
			created++
		default:
			if left, err = append(left, items[i]), one.Err; errors.Is(err, leasetable.ErrThrottled) {
				im.throttled(1)
			}
		}
	}
	im.count(func(s *Imported) { s.Lines += created; s.Created += created })
	if len(there) == 0 {
		return left, err
	}
	found, readErr := im.a.table.GetAll(ctx, im.a.home(), slices.Collect(maps.Keys(there)))
	for key, item := range there {
		if readErr != nil {
			left, err = append(left, item), readErr // it is asked again, which does no harm
			continue
		}
		im.count(func(s *Imported) { s.Lines++; *im.outcome(s, found[key], item)++ })
	}
	return left, err
}

// itemOf is the one of that key.
func (im *importer) itemOf(items []leasetable.Item, key lease.Primary) leasetable.Item {
	return items[slices.IndexFunc(items, func(item leasetable.Item) bool { return primary(item) == key })]
}

func primary(item leasetable.Item) lease.Primary {
	return lease.Primary{Partition: leasetable.Text(item, leasetable.PK), Sort: leasetable.Text(item, leasetable.SK)}
}

// outcome is what a row that is there is counted as.
func (im *importer) outcome(s *Imported, found, item leasetable.Item) *int64 {
	text := func(name string) bool { return leasetable.Text(found, name) == leasetable.Text(item, name) }
	row, err := leasetable.Row(found)
	switch {
	case err == nil && row.Version > 0 && row.Key == "" && row.Available == 0:
		return &s.Retired
	case !text(leasetable.PoolID) || !text(leasetable.Owner):
		return &s.Elsewhere
	default:
		return &s.There
	}
}

func (im *importer) throttled(n int) {
	im.pace.Throttled(n)
	im.count(func(s *Imported) { s.Throttled += int64(n) })
}

func (im *importer) count(change func(*Imported)) {
	im.mu.Lock()
	defer im.mu.Unlock()
	change(&im.sum)
}

// tell says how far it is, in the table and to the caller.
func (im *importer) tell(ctx context.Context, done <-chan struct{}) error {
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
			if err := im.keep(ctx); err != nil {
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

// keep writes down how far it is. Two that import one file at once both say what is true.
func (im *importer) keep(ctx context.Context) error {
	im.mu.Lock()
	upTo := im.upTo
	im.mu.Unlock()
	if im.from.ID == "" || upTo == im.begun {
		return nil
	}
	item := leasetable.PrimaryKey(lease.ImportRow(im.from.Client, im.from.ID))
	item[leasetable.Lines], item[leasetable.UpdatedMs] = leasetable.N(upTo), leasetable.N(time.Now().UnixMilli())
	_, _, err := im.a.table.Put(ctx, im.a.home(), item, leasetable.Anything())
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
	n, err := leasetable.Number(item, leasetable.Lines)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", leasetable.ErrTable, err)
	}
	return n, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
