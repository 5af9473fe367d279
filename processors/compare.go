package processors

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/processors/changelogpb"
)

// compare holds the changelog's last marker against the group's offsets: both were committed in one transaction. Where the
// brokers kept a part of it only, or have forgotten the offsets, the marker wins: its state is whole, and the next
// transaction gives its offsets back to the group.
func (r *restorer) compare(f *facts, res *restored) error {
	marker := positions(res.meta.GetMarker().GetInputs())
	res.next, res.start = map[string]int64{}, map[string]int64{}
	for _, topic := range r.w.proc.Inputs {
		at, known := marker[topic]
		was := f.committed(topic, r.p)
		start, err := f.inputStart(topic, r.p)
		if err != nil {
			return err
		}
		res.start[topic] = start
		switch {
		case !known && was.at < 0: // a new input
			at = r.w.cfg.bounds.begin(topic, r.p, start)
		case !known:
			return r.stop(fmt.Errorf("group %s has offset %d for %s[%d], but the changelog %s has no marker for it: the changelog was deleted or belongs to another life. Restore it, or delete the group's offsets to fold everything anew", r.w.proc.App, was.at, topic, r.p, r.w.proc.Changelog))
		case was.at < 0: // the brokers forget the offsets of a group that was away for long
			res.repair, res.forgot = true, true
		case was.at != at && torn(was.by, res.meta.Marker):
			r.w.log.Error().Int32("partition", r.p).Str("topic", topic).Int64("group", was.at).Str("by", was.by).
				Int64("state", at).Str("state_by", identity(res.meta.Marker)).Msg("transaction_torn_by_brokers")
			res.repair = true
		case was.at != at:
			return r.stop(fmt.Errorf("group %s is at offset %d of %s[%d], the state is at %d: the group's offsets were changed from outside, by %+d records. Set them back to %d, or remove state and changelog to fold anew", r.w.proc.App, was.at, topic, r.p, at, was.at-at, at))
		}
		res.next[topic] = at
	}
	return nil
}

// torn says whether an offset was committed by another of our transactions than the marker's. The same one with another
// offset is a fault of ours.
func torn(by string, m *changelogpb.Marker) bool {
	return strings.HasPrefix(by, identityPrefix) && by != identity(m)
}
