package balancer

import (
	"bytes"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/balancer/forecast"
)

func (b *Balancer) load() error {
	value, err := b.task.Get(TableTask, []byte(taskKey))
	if err != nil {
		return fmt.Errorf("read the task's row: %w", err)
	}
	if err := b.loadTask(value); err != nil {
		return err
	}
	for _, t := range []struct {
		table byte
		noun  string
		take  func(key string, value []byte) error
	}{
		{TableRegions, "region", b.loadRegion},
		{TablePools, "pool", b.loadPool},
		{TablePoolRegions, "pool region", b.loadPoolRegion},
		{TableProfiles, "profile", b.loadProfile},
		{TableTransfers, "transfer", b.loadTransfer},
	} {
		err := b.task.Scan(t.table, nil, func(key, value []byte) error {
			if err := t.take(string(key), value); err != nil {
				return fmt.Errorf("row of %s %q: %w", t.noun, key, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return b.recount()
}

func (b *Balancer) loadTask(value []byte) error {
	m := &balancerpb.Task{}
	if err := proto.Unmarshal(value, m); err != nil {
		return fmt.Errorf("the task's row is damaged: %w", err)
	}
	b.firedMs, b.plannedMs, b.ticking = m.FiredMs, m.PlannedMs, value != nil
	return nil
}

// recount counts the resources.
func (b *Balancer) recount() error {
	var at *pool
	var prefix []byte
	return b.task.Scan(TableResources, nil, func(key, value []byte) error {
		if at == nil || !bytes.HasPrefix(key, prefix) {
			client, rest, ok := strings.Cut(string(key), "\x00")
			name, _, ok2 := strings.Cut(rest, "\x00")
			if !ok || !ok2 {
				return fmt.Errorf("key %q of a resource: %w", key, errRow)
			}
			at = b.pool(client, name)
			prefix = append([]byte(at.key), 0)
		}
		r, err := decodeRow(value, b.cfg.Regions)
		if err != nil {
			return fmt.Errorf("resource %q: %w", key, err)
		}
		if s := b.poolRegion(at, r.owner); s != nil {
			s.count(&r, 1)
		}
		return nil
	})
}

func (b *Balancer) loadRegion(key string, value []byte) error {
	if i := b.region(key); i >= 0 { // the row of an undeclared region stays in the store
		return b.regions[i].restore(value)
	}
	return nil
}

func (b *Balancer) loadPool(key string, value []byte) error {
	client, name, _ := strings.Cut(key, "\x00")
	p := b.pool(client, name)
	p.changed = false
	return p.restore(value)
}

func (b *Balancer) loadPoolRegion(key string, value []byte) error {
	if s := b.poolRegionOf(key); s != nil {
		return s.restore(value)
	}
	return nil
}

func (b *Balancer) loadProfile(key string, value []byte) (err error) {
	if s := b.poolRegionOf(key); s != nil {
		s.profile, err = forecast.DecodeProfile(value)
	}
	return err
}
