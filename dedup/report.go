package dedup

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// report updates the duplicate of a key: a duplicate opens when two rows are live, and is resolved
// when at most one is.
func (d *Dedup) report(x *decisionContext, k *Key, v *decision) error {
	was := k.Duplicate
	state, winner := DuplicateSuperseding, was.Winner
	if x.settings.mode == modeObserve {
		state = DuplicateObserved
	}
	if v.winner >= 0 {
		winner = k.Rows[v.winner].Region
	}
	switch double := len(v.live) > 1; {
	case double && !was.open():
		k.Duplicate = Duplicate{State: state, Winner: winner, Since: x.nowMs}
		d.stats.Duplicates++
		d.stats.OpenDuplicates++
		if err := d.note(x, "duplicate", x.found(k, v), k, v); err != nil {
			return err
		}
	case double && (was.State != state || was.Winner != winner):
		k.Duplicate.State, k.Duplicate.Winner = state, winner
	case !double && was.open():
		k.Duplicate.State, k.Duplicate.Winner, k.Duplicate.Resolved = DuplicateResolved, winner, x.nowMs
		d.stats.Resolved++
		d.stats.OpenDuplicates--
		d.stats.Resolutions = append(d.stats.Resolutions, time.Duration(x.nowMs-was.Since)*time.Millisecond)
		if err := d.note(x, "resolved", x.ended(k, v), k, v); err != nil {
			return err
		}
	default:
		return nil
	}
	r := &eventspb.LeaseDuplicate{
		Client: x.client, Pool: x.pool, Key: x.key, Winner: k.Duplicate.Winner, State: k.Duplicate.State, SinceMs: k.Duplicate.Since,
		ResolvedMs: k.Duplicate.Resolved,
	}
	for i := range k.Rows {
		r.Rows = append(r.Rows, k.Rows[i].leaseKey(x.key))
	}
	return d.emit(events.LeaseDuplicatesTopic, x.client+"\x00"+x.pool+"\x00"+x.key, r)
}

// note adds an entry to the journal.
func (d *Dedup) note(x *decisionContext, kind, text string, k *Key, v *decision) error {
	n := &eventspb.LeaseJournalEntry{
		AtMs: x.nowMs, By: "dedup", Kind: kind, Client: x.client, Pool: x.pool, To: k.Duplicate.Winner, Count: int64(len(v.live)),
		Text: text,
	}
	for _, i := range v.losers {
		if n.From == "" {
			n.From = k.Rows[i].Region
		}
	}
	return d.emit(events.LeaseJournalTopic, x.client+"\x00"+x.pool, n)
}

// found returns the journal text of a new duplicate.
func (x *decisionContext) found(k *Key, v *decision) string {
	var where []string
	for _, i := range v.live {
		where = append(where, k.Rows[i].Region+" ("+k.Rows[i].Resource+")")
	}
	text := fmt.Sprintf("key %q of pool %q is leased in %s at once: ", x.key, x.pool, strings.Join(where, " and "))
	switch {
	case x.settings.mode == modeObserve:
		return text + "it is only recorded, as the pool has duplicates=observe"
	case v.winner < 0:
		return text + "no winner, as each was superseded by another before"
	}
	return text + k.Duplicate.Winner + " wins"
}

// ended returns the journal text of a resolved duplicate.
func (x *decisionContext) ended(k *Key, v *decision) string {
	took := time.Duration(k.Duplicate.Resolved-k.Duplicate.Since) * time.Millisecond
	if len(v.live) == 0 {
		return fmt.Sprintf("key %q of pool %q is no longer leased, %v after it was leased in several regions at once", x.key, x.pool, took)
	}
	r := &k.Rows[v.live[0]]
	return fmt.Sprintf("key %q of pool %q is leased in %s (%s) alone, %v after it was leased in several regions at once", x.key, x.pool,
		r.Region, r.Resource, took)
}
