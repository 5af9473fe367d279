package dedup

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// report follows the case of a key: it opens when two rows are live, and is resolved when they are not any more.
func (d *Dedup) report(x *decisionContext, k *Key, v *decision) error {
	was := k.Duplicate
	state, winner := Superseding, was.Winner
	if x.settings.mode == modeObserve {
		state = Observed
	}
	if v.winner >= 0 {
		winner = k.Rows[v.winner].Region
	}
	switch double := len(v.live) > 1; {
	case double && !was.open():
		k.Duplicate = Duplicate{State: state, Winner: winner, Since: x.nowMs}
		d.stats.Found++
		d.stats.Open++
		if err := d.note(x, "duplicate", x.found(k, v), k, v); err != nil {
			return err
		}
	case double && (was.State != state || was.Winner != winner):
		k.Duplicate.State, k.Duplicate.Winner = state, winner
	case !double && was.open():
		k.Duplicate.State, k.Duplicate.Winner, k.Duplicate.Resolved = Resolved, winner, x.nowMs
		d.stats.Resolved++
		d.stats.Open--
		d.stats.took(x.nowMs - was.Since)
		if err := d.note(x, "resolved", x.ended(k, v), k, v); err != nil {
			return err
		}
	default:
		return nil
	}
	r := &eventspb.LeaseDuplicate{
		Client: x.client, Pool: x.pool, Key: x.key, Winner: k.Duplicate.Winner, State: k.Duplicate.State, SinceMs: k.Duplicate.Since, ResolvedMs: k.Duplicate.Resolved,
	}
	for i := range k.Rows {
		r.Rows = append(r.Rows, k.Rows[i].leaseKey(x.key))
	}
	return d.emit(events.LeaseDuplicatesTopic, x.client+"\x00"+x.pool+"\x00"+x.key, r)
}

// note writes a sentence to the journal.
func (d *Dedup) note(x *decisionContext, kind, text string, k *Key, v *decision) error {
	n := &eventspb.LeaseJournalEntry{
		AtMs: x.nowMs, By: "dedup", Kind: kind, Client: x.client, Pool: x.pool, To: k.Duplicate.Winner, Count: int64(len(v.live)), Text: text,
	}
	for _, i := range v.losers {
		if n.From == "" {
			n.From = k.Rows[i].Region
		}
	}
	return d.emit(events.LeaseJournalTopic, x.client+"\x00"+x.pool, n)
}

// found is the sentence for a duplicate.
func (x *decisionContext) found(k *Key, v *decision) string {
	var where []string
	for _, i := range v.live {
		where = append(where, k.Rows[i].Region+" ("+k.Rows[i].Resource+")")
	}
	text := fmt.Sprintf("key %q of pool %q is leased in %s at once: ", x.key, x.pool, strings.Join(where, " and "))
	switch {
	case x.settings.mode == modeObserve:
		return text + "nothing is done about it, the pool's setting is observe"
	case v.winner < 0:
		return text + "each of them was told before that another won"
	}
	return text + k.Duplicate.Winner + " wins"
}

// ended is the sentence for the end of one.
func (x *decisionContext) ended(k *Key, v *decision) string {
	took := time.Duration(k.Duplicate.Resolved-k.Duplicate.Since) * time.Millisecond
	if len(v.live) == 0 {
		return fmt.Sprintf("key %q of pool %q is leased nowhere any more, %v after it was in several regions at once", x.key, x.pool, took)
	}
	r := &k.Rows[v.live[0]]
	return fmt.Sprintf("key %q of pool %q is leased in %s (%s) alone, %v after it was in several regions at once", x.key, x.pool, r.Region, r.Resource, took)
}
