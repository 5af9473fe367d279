package spendcache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendlog"
	"github.com/weirhq/weir/stream"
)

// reader reads the rows of an account from one snapshot.
type reader struct {
	ctx   context.Context
	snap  *follower.Snapshot
	shard int32
	q     AccountQuery
}

// chosen reads the rows of the chosen dataset.
func (r *reader) chosen(d *dataset, choice *Choice, fn func(Row) error) error {
	health, err := r.healthOf(d, choice)
	if err != nil {
		return err
	}
	return r.scan(d, health.GetIncarnation(), fn)
}

// healthOf returns the health row of the chosen dataset. The choice is up to a second old: it
// returns ErrNoRows if the dataset has been replaced since then.
func (r *reader) healthOf(d *dataset, choice *Choice) (*eventspb.SpendHistogram, error) {
	health, err := readHealth(r.snap, d, r.shard)
	if err == nil && (health == nil || events.CompareVersions(health, choice.health) < 0) {
		err = fmt.Errorf("%w: the dataset of %s has just been replaced", ErrNoRows, d.dc)
	}
	return health, err
}

// merged reads the rows of all datasets that can be read, and merges those of each campaign day.
func (r *reader) merged(datasets []dataset, choice *Choice, fn func(Row) error) error {
	found := map[string][]Row{}
	r.q.Lifetime = false
	var gaps []error
	for i := range datasets {
		err := r.scan(&datasets[i], choice.incarnations[i], func(row Row) error {
			found[row.key] = append(found[row.key], row)
			return nil
		})
		switch {
		case r.ctx.Err() != nil, errors.Is(err, ErrLimit):
			return err
		case err != nil: // the others may be readable
			gaps = append(gaps, err)
		}
	}
	if len(gaps) == len(datasets) {
		return errors.Join(gaps...)
	}
	for _, k := range slices.Sorted(maps.Keys(found)) {
		if err := fn(mergeRows(found[k])); err != nil {
			return err
		}
	}
	return nil
}

// mergeRows merges the rows of one campaign day. Of each part it takes the greatest figures.
func mergeRows(list []Row) Row {
	var spends []*eventspb.Spend
	for _, row := range list {
		spends = append(spends, row.Spend)
	}
	out := Row{Spend: events.MergeSpend(spends...)}
	for _, row := range list {
		if row.Spend.GetCorrections() < out.Spend.GetCorrections() {
			continue
		}
		for _, p := range row.Parts {
			i := slices.IndexFunc(out.Parts, func(o *eventspb.PartSpend) bool {
				return o.GetLineItem() == p.GetLineItem() && o.GetArm() == p.GetArm()
			})
			if i < 0 {
				out.Parts = append(out.Parts, p)
				continue
			}
			o := out.Parts[i]
			o.ChargedMicros, o.Events = max(o.GetChargedMicros(), p.GetChargedMicros()), max(o.GetEvents(), p.GetEvents())
		}
	}
	return out
}

// scan calls fn for each row of a dataset, in the order of the keys. incarnation is that of the
// state of the shard.
func (r *reader) scan(d *dataset, incarnation uint64, fn func(Row) error) error {
	prefixes := [][]byte{spendcounter.AccountPrefix(r.q.Account)}
	if len(r.q.Campaigns) > 0 {
		prefixes = nil
		for _, campaign := range slices.Compact(slices.Sorted(slices.Values(r.q.Campaigns))) {
			prefixes = append(prefixes, spendcounter.CampaignPrefix(r.q.Account, campaign))
		}
	}
	s := &scan{reader: r, topic: d.topic, incarnation: incarnation, fn: fn}
	for _, p := range prefixes {
		if err := s.prefix(p); err != nil {
			return err
		}
	}
	return nil
}

// scan reads the rows of one dataset.
type scan struct {
	*reader
	topic       string
	incarnation uint64 // rows of a smaller one are of a state that was deleted
	fn          func(Row) error
	visited     int // rows
	taken       int // rows and parts
}

// step counts a row that the scan visits, and returns the error of ctx from time to time.
func (s *scan) step() error {
	if s.visited++; s.visited%1024 == 0 {
		return s.ctx.Err()
	}
	return nil
}

// skipLimit is the number of rows of earlier days in a row after which a scan seeks: a seek takes
// about as long as this many rows.
const skipLimit = 8

// errSeek ends a scan that goes on at another key.
var errSeek = errors.New("the scan seeks")

// prefix reads the rows whose keys begin with prefix. It seeks over the earlier days of each
// campaign.
func (s *scan) prefix(prefix []byte) error {
	from := append([]byte{spendcounter.TableSpend}, prefix...)
	to := stream.PrefixEnd(from)
	for from != nil {
		var next []byte
		skipped := 0
		err := s.snap.Range(follower.KeyRange{Topic: s.topic, Partition: s.shard, From: from, To: to}, func(row follower.Row) error {
			key := row.Key[1:]
			account, campaign, day, _, err := spendcounter.ParseKey(key)
			if err = errors.Join(err, s.step()); err != nil {
				return err
			}
			if day == 0 && !s.q.Lifetime || day != 0 && day < s.q.From {
				if skipped++; skipped > skipLimit && s.q.From > 0 {
					next = spendcounter.AppendKey([]byte{spendcounter.TableSpend}, account, campaign, s.q.From, 0)
					return errSeek
				}
				return nil
			}
			skipped = 0
			return s.take(key, row.Value)
		})
		if err != nil && !errors.Is(err, errSeek) {
			return err
		}
		from = next
	}
	return nil
}

// take passes on a row.
func (s *scan) take(key, value []byte) error {
	row := Row{Spend: &eventspb.Spend{}, key: string(key)}
	if err := proto.Unmarshal(value, row.Spend); err != nil {
		return fmt.Errorf("row %q of %s: %w: is the topic written by a spend counter?", key, s.topic, err)
	}
	switch {
	case row.Spend.GetSchema() > spendlog.Schema:
		return fmt.Errorf("row %q of %s: %w", key, s.topic, spendlog.ErrNewer)
	case row.Spend.GetIncarnation() < s.incarnation:
		return nil
	}
	if s.q.Parts {
		if err := s.takeParts(key, &row); err != nil {
			return err
		}
	}
	if s.taken += 1 + len(row.Parts); s.q.Limit > 0 && s.taken > s.q.Limit {
		return ErrLimit
	}
	return s.fn(row)
}

// takeParts adds the parts of a row.
func (s *scan) takeParts(key []byte, row *Row) error {
	prefix := append([]byte{spendcounter.TableParts}, key...)
	return s.snap.Scan(s.topic, s.shard, prefix, func(part follower.Row) error {
		p := &eventspb.SpendPart{}
		if err := proto.Unmarshal(part.Value, p); err != nil {
			return fmt.Errorf("part %q of %s: %w: is the topic written by a spend counter?", part.Key, s.topic, err)
		}
		if p.GetSchema() > spendlog.Schema {
			return fmt.Errorf("part %q of %s: %w", part.Key, s.topic, spendlog.ErrNewer)
		}
		if p.GetIncarnation() >= s.incarnation {
			row.Parts = append(row.Parts, p.GetPart())
		}
		return nil
	})
}
