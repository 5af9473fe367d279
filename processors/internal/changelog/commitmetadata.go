package changelog

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/processors/changelogpb"
)

// CommitMetadata names a transaction in the metadata of the offsets that it commits. With it a
// takeover distinguishes offsets of a partially committed transaction from offsets that an operator
// set.
func CommitMetadata(m *changelogpb.Marker) string {
	return fmt.Sprintf("%s%d/%d/%d", CommitMetadataPrefix, m.GetOwnerEpoch(), m.GetSequence(), m.GetWrittenAtMs())
}

// CommitMetadataPrefix begins the metadata of every offset that the runtime commits.
const CommitMetadataPrefix = "weir transaction "

// noteChangelog separates the transaction from its changelog in the metadata of an offset.
const noteChangelog = " in "

// CommitNote returns the metadata of the offsets that a transaction commits: CommitMetadata and the
// changelog to which it writes.
func CommitNote(m *changelogpb.Marker, changelog string) string {
	return CommitMetadata(m) + noteChangelog + changelog
}

// SplitNote splits the metadata of an offset. The changelog is empty in offsets of older versions.
func SplitNote(note string) (transaction, changelog string) {
	transaction, changelog, _ = strings.Cut(note, noteChangelog)
	return transaction, changelog
}

// OtherChangelog returns the error of a state that belongs to another changelog than now.
func OtherChangelog(what, was, now string) error {
	return fmt.Errorf("%s belongs to changelog %s, and the configuration names %s. Nothing was changed. Set the former name back; delete nothing", what, was, now)
}

// PartiallyCommitted reports whether another transaction than the marker's committed an offset. by
// is the metadata of the offset. If the transaction is the same but the offset differs, the runtime
// has a bug.
func PartiallyCommitted(by string, m *changelogpb.Marker) bool {
	return strings.HasPrefix(by, CommitMetadataPrefix) && by != CommitMetadata(m)
}
