package processors

import (
	"fmt"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
)

// compareOffsets compares the last marker of the changelog with the group's offsets. One
// transaction has committed both. If the brokers kept only a part of it, or deleted the offsets,
// the marker wins: its state is complete, and the next transaction commits its offsets to the group
// again.
func (r *restorer) compareOffsets(f *changelog.BrokerState, res *restoreResult) error {
	marker := changelogpb.NextOffsets(res.meta.GetMarker().GetInputs())
	res.next, res.start = map[string]int64{}, map[string]int64{}
	for _, topic := range r.w.proc.Inputs {
		at, known := marker[topic]
		was := f.Committed(topic, r.p)
		start, err := f.InputStart(topic, r.p)
		if err != nil {
			return err
		}
		res.start[topic] = start
		switch {
		case !known && was.At < 0: // a new input
			at = r.w.cfg.replay.Start(topic, r.p, start)
		case !known && was.Changelog != "" && was.Changelog != r.w.proc.Changelog:
			return r.stop(changelog.OtherChangelog("group "+r.w.proc.App, was.Changelog, r.w.proc.Changelog))
		case !known:
			return r.stop(
				fmt.Errorf(
					"group %s has offset %d for %s[%d], but changelog %s has no marker for it: the changelog was deleted, or belongs to another cluster. Restore the changelog, or delete the offsets of the group to fold every record again", r.w.proc.App, was.At, topic, r.p, r.w.proc.Changelog))
		case was.At < 0: // brokers delete the offsets of a group that was empty for a long time
			res.repairOffsets, res.offsetsExpired = true, true
		case was.At != at && changelogpb.PartiallyCommitted(was.Metadata, res.meta.Marker):
			r.w.log.Error().Int32("partition", r.p).Str("topic", topic).Int64("group", was.At).Str("by", was.Metadata).
				Int64("state", at).Str("state_by", changelogpb.CommitMetadata(res.meta.Marker)).Msg("transaction_partially_committed")
			res.repairOffsets = true
		case was.At != at:
			return r.stop(
				fmt.Errorf(
					"group %s is at offset %d of %s[%d], the state is at %d: the offsets of the group were changed from outside, by %+d records. Set them back to %d, or delete state and changelog to fold every record again", r.w.proc.App, was.At, topic, r.p, at, was.At-at, at))
		}
		res.next[topic] = at
	}
	return nil
}
