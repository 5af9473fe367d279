package pacing

import (
	"encoding/binary"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/events/eventspb"
)

const (
	// reportsFor is the time for which a report is known at least. An ad server repeats it for a
	// minute.
	reportsFor = 2 * time.Minute
	// mostReports bounds the reports that are known: older ones are forgotten earlier.
	mostReports = 1 << 20
)

// knownReports are the hashes of the reports of ad servers that were read, of each account. Its
// zero value is ready to use.
type knownReports struct {
	last, before map[uint64]struct{}
	since        time.Time // of last
}

// first reports whether ads were not read before, which count as read.
func (r *knownReports) first(m *eventspb.InsertionSums, now time.Time) bool {
	if r.last == nil || now.Sub(r.since) >= reportsFor || len(r.last) >= mostReports {
		r.last, r.before, r.since = map[uint64]struct{}{}, r.last, now
	}
	id := binary.BigEndian.AppendUint64(append([]byte(m.GetReporter()), 0), m.GetSequence())
	hash := xxhash.Sum64(append(id, m.GetAccount()...))
	_, last := r.last[hash]
	_, before := r.before[hash]
	r.last[hash] = struct{}{}
	return !last && !before
}
