package changelog

import "github.com/weirhq/weir/processors/changelogpb"

// Skips are ranges of the inputs of one partition that are not in its state.
type Skips []*changelogpb.Skip

// Past returns the first offset of topic from at on that is in no range.
func (l Skips) Past(topic string, at int64) int64 {
	for i := 0; i < len(l); i++ {
		if s := l[i]; s.Topic == topic && s.From <= at && at < s.To {
			at, i = s.To, -1 // a range may follow that comes earlier in the list
		}
	}
	return at
}

// Until returns the beginning of the first range of topic behind at, but at most end.
func (l Skips) Until(topic string, at, end int64) int64 {
	for _, s := range l {
		if s.Topic == topic && s.From >= at && s.To > s.From {
			end = min(end, s.From)
		}
	}
	return end
}

// AfterOf returns Skip.After of an instruction that is given after the transaction of m.
func AfterOf(m *changelogpb.Marker) string {
	if m == nil {
		return ""
	}
	return changelogpb.CommitMetadata(m)
}

// Carry returns the position behind an instruction, for a task whose last transaction has marker m
// and whose position in the topic is at. It returns false if the instruction is void: it was given
// after another transaction, or for another position.
func Carry(s *changelogpb.Skip, m *changelogpb.Marker, at int64) (next int64, ok bool) {
	if s.After != AfterOf(m) || s.From != at || s.To <= at {
		return at, false
	}
	return s.To, true
}
