package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Stored is what every row of settings has.
type Stored struct {
	Description string    `json:"description"`
	Version     int64     `json:"version"`
	Updated     time.Time `json:"updated"`

	writer string // the region that they are written through
}

func (s *Stored) stored() *Stored { return s }

// Entity is a pointer to settings of one kind.
type Entity[T any] interface {
	*T
	String() string // such as: pool p of client c
	primary() lease.PrimaryKey
	check() error     // of names and values
	item() table.Item // what this kind has
	read(table.Item) error
	stored() *Stored
	needs(ctx context.Context, a *Admin) error  // says what has to be there before it
	unused(ctx context.Context, a *Admin) error // says why it may not go
	checkReplaces(old *T) error                 // says why it may not take old's place, and keeps what is to be kept of that
}

// Create puts settings that are not there yet; else the error is ErrExists.
func Create[T any, P Entity[T]](ctx context.Context, a *Admin, v T) (T, error) {
	p := P(&v)
	err := invalid(p.check())
	if err == nil {
		err = p.needs(ctx, a)
	}
	if err != nil {
		return v, err
	}
	p.stored().Version = 0
	return v, put[T, P](ctx, a, p, ErrExists)
}

// Get reads the settings that v names, at home; if they are not there the error is ErrNotFound.
func Get[T any, P Entity[T]](ctx context.Context, a *Admin, v T) (T, error) {
	return get[T, P](ctx, a, a.home(), v)
}

func get[T any, P Entity[T]](ctx context.Context, a *Admin, at string, v T) (T, error) {
	p := P(&v)
	if err := invalid(p.check()); err != nil {
		return v, err
	}
	item, err := a.table.Get(ctx, at, p.primary())
	if err != nil {
		return v, err
	}
	if item == nil {
		return v, fmt.Errorf("%s: %w", p, ErrNotFound)
	}
	return v, read[T, P](item, p)
}

// List reads all settings of v's kind, at home: of a pool's client, all others alone.
func List[T any, P Entity[T]](ctx context.Context, a *Admin, v T) ([]T, error) {
	return list[T, P](ctx, a, a.home(), v)
}

func list[T any, P Entity[T]](ctx context.Context, a *Admin, at string, v T) ([]T, error) {
	items, err := a.table.Query(ctx, at, P(&v).primary().Partition)
	list := make([]T, len(items))
	for i := 0; i < len(items) && err == nil; i++ {
		err = read[T, P](items[i], P(&list[i]))
	}
	return list, err
}

// GetAny is Get for people: if the home does not answer another region is asked, whose copy may be a little behind. at is which.
func GetAny[T any, P Entity[T]](ctx context.Context, a *Admin, v T) (found T, at string, err error) {
	at, err = a.tryRegions(func(at string) (err error) {
		found, err = get[T, P](ctx, a, at, v)
		return err
	})
	return found, at, err
}

// ListAny is List for people, as Look is Get.
func ListAny[T any, P Entity[T]](ctx context.Context, a *Admin, v T) (all []T, at string, err error) {
	at, err = a.tryRegions(func(at string) (err error) {
		all, err = list[T, P](ctx, a, at, v)
		return err
	})
	return all, at, err
}

// tryRegions asks the home, and while nobody answers the others in turn.
func (a *Admin) tryRegions(ask func(at string) error) (at string, err error) {
	first := ask(a.home())
	if !errors.Is(first, table.ErrUnavailable) {
		return a.home(), first
	}
	for _, at := range others(a.regions, a.home()) {
		if err := ask(at); !errors.Is(err, table.ErrUnavailable) {
			return at, err
		}
	}
	return a.home(), first
}

// Update puts settings in the place of those that are at the same version; else the error is ErrChanged.
func Update[T any, P Entity[T]](ctx context.Context, a *Admin, v T) (T, error) {
	p := P(&v)
	old, err := Get[T, P](ctx, a, v)
	if err == nil {
		err = invalid(p.check())
	}
	if err == nil && p.stored().Version != P(&old).stored().Version {
		err = fmt.Errorf("%s: %w", p, ErrChanged)
	}
	if err == nil {
		err = invalid(p.checkReplaces(&old))
	}
	if err == nil {
		err = p.needs(ctx, a)
	}
	if err != nil {
		return v, err
	}
	return v, put[T, P](ctx, a, p, ErrChanged)
}

// Delete removes settings that nothing needs any more; else the error is ErrInUse. Dry only says whether it would.
func Delete[T any, P Entity[T]](ctx context.Context, a *Admin, v T, dry bool) error {
	v, err := Get[T, P](ctx, a, v)
	p := P(&v)
	if err == nil {
		err = a.checkWriter(p, p.stored().writer)
	}
	if err == nil {
		err = p.unused(ctx, a)
	}
	if err != nil || dry {
		return err
	}
	return a.viaHome(ctx, func(ctx context.Context) error {
		ok, err := a.table.Delete(ctx, a.home(), p.primary(), table.Expect{Version: p.stored().Version, Writer: a.home()})
		if err == nil && !ok {
			err = fmt.Errorf("%s: %w", p, ErrChanged)
		}
		return err
	})
}

// Outcome is what became of one of many rows.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
)

// Import makes settings like v, whether they are there or not. Dry only says what it would do.
func Import[T any, P Entity[T]](ctx context.Context, a *Admin, v T, dry bool) (Outcome, error) {
	p := P(&v)
	if err := invalid(p.check()); err != nil { // which sets defaults
		return "", err
	}
	old, err := Get[T, P](ctx, a, v)
	switch {
	case errors.Is(err, ErrNotFound):
		if dry {
			return Created, p.needs(ctx, a)
		}
		_, err = Create[T, P](ctx, a, v)
		return Created, err
	case err != nil:
		return "", err
	}
	was := P(&old).stored()
	p.stored().Version, p.stored().Updated, p.stored().writer = was.Version, was.Updated, was.writer
	if err := invalid(p.checkReplaces(&old)); err != nil {
		return "", err
	}
	if fmt.Sprintf("%+v", v) == fmt.Sprintf("%+v", old) {
		return Unchanged, nil
	}
	if dry {
		return Updated, p.needs(ctx, a)
	}
	_, err = Update[T, P](ctx, a, v)
	return Updated, err
}

// put writes p as its next version, if it is still at the one that p has.
func put[T any, P Entity[T]](ctx context.Context, a *Admin, p P, otherwise error) error {
	s := p.stored()
	expect := table.Expect{} // nothing
	if s.Version > 0 {
		expect = table.Expect{Version: s.Version, Writer: a.home()}
	}
	s.Updated = time.UnixMilli(time.Now().UnixMilli()).UTC()
	if s.Version == 0 {
		// What is made again after it was deleted has a greater version than the old one had: readers keep the greatest.
		s.Version = s.Updated.UnixMilli()
	}
	s.Version++
	s.writer = a.home()
	item := p.item()
	for name, v := range table.PrimaryKey(p.primary()) {
		item[name] = v
	}
	item[table.Version], item[table.UpdatedMs] = table.N(s.Version), table.N(s.Updated.UnixMilli())
	item[table.Description], item[table.WriterRegion] = table.S(s.Description), table.S(a.home())
	var found table.Item
	var ok bool
	err := a.viaHome(ctx, func(ctx context.Context) (err error) {
		found, ok, err = a.table.Put(ctx, a.home(), item, expect)
		return err
	})
	if err != nil || ok {
		return err
	}
	if err := a.checkWriter(p, table.Text(found, table.WriterRegion)); err != nil && expect.Version > 0 {
		return err
	}
	return fmt.Errorf("%s: %w", p, otherwise)
}

// checkWriter says whether what is written through a region is ours to write.
func (a *Admin) checkWriter(what fmt.Stringer, writer string) error {
	if writer == a.home() {
		return nil
	}
	return fmt.Errorf("%s: %w: set leases.home to %s, it is %s", what, ErrHome, writer, a.home())
}

func read[T any, P Entity[T]](item table.Item, p P) error {
	err := p.read(item)
	s := p.stored()
	var ms int64
	if err == nil {
		s.Version, err = table.Number(item, table.Version)
	}
	if err == nil {
		ms, err = table.Number(item, table.UpdatedMs)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", table.ErrTable, p, err)
	}
	s.writer = table.Text(item, table.WriterRegion)
	s.Updated, s.Description = time.UnixMilli(ms).UTC(), table.Text(item, table.Description)
	return nil
}

// checkEnum says what is wrong with a setting that is one of a few words, the first being what an empty one becomes.
func checkEnum(name string, v *string, of []string) error {
	if *v == "" {
		*v = of[0]
	}
	if !slices.Contains(of, *v) {
		return fmt.Errorf("%s is %q: give %s", name, *v, strings.Join(of, ", "))
	}
	return nil
}

// checkDescription says what is wrong with a description.
func checkDescription(s string) error {
	if len(s) > 1000 {
		return fmt.Errorf("the description has %d bytes, 1000 are allowed", len(s))
	}
	return nil
}
