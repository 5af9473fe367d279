package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// StoredRow is the part that all settings rows have.
type StoredRow struct {
	Description string    `json:"description"`
	Version     int64     `json:"version"`
	Updated     time.Time `json:"updated"`

	writer string // region through which they were written
}

func (s *StoredRow) stored() *StoredRow { return s }

// Entity is a pointer to settings of one kind: *Client, *Pool or *Region.
type Entity[T any] interface {
	*T
	String() string // for messages, such as: pool "p" of client "c"
	primary() lease.PrimaryKey
	check() error     // validates names and values, and sets defaults
	item() table.Item // attributes of this kind
	read(table.Item) error
	stored() *StoredRow
	needs(ctx context.Context, a *Admin) error  // returns an error if something that they refer to is missing
	unused(ctx context.Context, a *Admin) error // returns an error if something refers to them
	checkReplaces(old *T) error                 // returns an error if they must not replace old, and takes over what Update keeps
}

// Create writes new settings. If they exist, the error is ErrExists.
func Create[T any, P Entity[T]](ctx context.Context, a *Admin, v T) (T, error) {
	p := P(&v)
	err := invalid(p.check())
	if err == nil {
		err = invalid(lease.CheckVisible("name", p.primary().Sort))
	}
	if err == nil {
		err = p.needs(ctx, a)
	}
	if err != nil {
		return v, err
	}
	p.stored().Version = 0
	return v, put[T, P](ctx, a, p, ErrExists)
}

// Get reads the settings that v names in the home region. If there are none, the error is
// ErrNotFound.
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

// List reads all settings of v's kind in the home region: of pools those of v's client.
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

// GetAny is Get, for display: if the home region does not answer, it reads another region, whose
// copy may lag. at is the region read.
func GetAny[T any, P Entity[T]](ctx context.Context, a *Admin, v T) (found T, at string, err error) {
	at, err = a.tryRegions(func(at string) (err error) {
		found, err = get[T, P](ctx, a, at, v)
		return err
	})
	return found, at, err
}

// ListAny is List, for display, as GetAny is Get.
func ListAny[T any, P Entity[T]](ctx context.Context, a *Admin, v T) (all []T, at string, err error) {
	at, err = a.tryRegions(func(at string) (err error) {
		all, err = list[T, P](ctx, a, at, v)
		return err
	})
	return all, at, err
}

// tryRegions calls ask for the home region and, while regions do not answer, for the others in
// turn.
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

// Update replaces settings that still have v's version. If they do not, the error is
// ErrVersionConflict.
func Update[T any, P Entity[T]](ctx context.Context, a *Admin, v T) (T, error) {
	p := P(&v)
	old, err := Get[T, P](ctx, a, v)
	if err == nil {
		err = invalid(p.check())
	}
	if err == nil && p.stored().Version != P(&old).stored().Version {
		err = fmt.Errorf("%s: %w", p, ErrVersionConflict)
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
	return v, put[T, P](ctx, a, p, ErrVersionConflict)
}

// Delete removes settings that nothing refers to. If something does, the error is ErrInUse. With
// dry it removes nothing.
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
			err = fmt.Errorf("%s: %w", p, ErrVersionConflict)
		}
		return err
	})
}

// Outcome is the result of Import.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
)

// Import creates or updates settings, so that they equal v. With dry it writes nothing, and returns
// the outcome.
func Import[T any, P Entity[T]](ctx context.Context, a *Admin, v T, dry bool) (Outcome, error) {
	p := P(&v)
	if err := invalid(p.check()); err != nil { // sets defaults
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

// put writes p as the next version, if the row still has p's version. If it does not, the error is
// otherwise.
func put[T any, P Entity[T]](ctx context.Context, a *Admin, p P, otherwise error) error {
	s := p.stored()
	expect := table.Expect{} // no row
	if s.Version > 0 {
		expect = table.Expect{Version: s.Version, Writer: a.home()}
	}
	s.Updated = time.UnixMilli(time.Now().UnixMilli()).UTC()
	if s.Version == 0 {
		// Settings that were deleted and are created again need a greater version, because readers
		// keep the greatest.
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

// checkWriter returns an error if settings were written through another region than the configured
// home.
func (a *Admin) checkWriter(what fmt.Stringer, writer string) error {
	if writer == a.home() {
		return nil
	}
	return fmt.Errorf("%s: %w", what, &HomeError{Home: writer, Configured: a.home()})
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

// checkEnum returns an error if a setting is not one of its values. It replaces an empty setting by
// the first value.
func checkEnum(name string, v *string, of []string) error {
	*v = cmp.Or(*v, of[0])
	if !slices.Contains(of, *v) {
		return fmt.Errorf("%s is %q: set one of %s", name, *v, strings.Join(of, ", "))
	}
	return nil
}

// checkDescription returns an error if a description is too long.
func checkDescription(s string) error {
	if len(s) > 1000 {
		return fmt.Errorf("the description has %d bytes; at most 1000 are allowed", len(s))
	}
	return nil
}
