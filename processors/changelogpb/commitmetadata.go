package changelogpb

import (
	"fmt"
	"strconv"
	"strings"
)

// CommitMetadata names a transaction in the metadata of the offsets that it commits. With it a
// takeover distinguishes offsets of a partially committed transaction from offsets that an operator
// set.
func CommitMetadata(m *Marker) string {
	return fmt.Sprintf("%s%d/%d/%d", CommitMetadataPrefix, m.GetOwnerEpoch(), m.GetSequence(), m.GetWrittenAtMs())
}

// CommitMetadataPrefix begins the metadata of every offset that the runtime commits.
const CommitMetadataPrefix = "weir transaction "

// noteChangelog separates the transaction from its changelog in the metadata of an offset.
const noteChangelog = " in "

// notePartitions separates the changelog from its number of partitions. No topic has it in its
// name.
const notePartitions = "/"

// CommitNote returns the metadata of the offsets that a transaction commits: CommitMetadata, the
// changelog to which it writes, and the partitions of the state.
func CommitNote(m *Marker, changelog string, partitions int32) string {
	return CommitMetadata(m) + noteChangelog + changelog + notePartitions + strconv.Itoa(int(partitions))
}

// SplitNote splits the metadata of an offset. The changelog is empty, and the number of partitions
// 0, in offsets of older versions.
func SplitNote(note string) (transaction, changelog string, partitions int32) {
	transaction, changelog, _ = strings.Cut(note, noteChangelog)
	changelog, count, _ := strings.Cut(changelog, notePartitions)
	n, err := strconv.ParseInt(count, 10, 32)
	if err != nil { // an older version, or an operator
		return transaction, changelog, 0
	}
	return transaction, changelog, int32(n)
}

// PartiallyCommitted reports whether another transaction than the marker's committed an offset. by
// is the metadata of the offset. If the transaction is the same but the offset differs, the runtime
// has a bug.
func PartiallyCommitted(by string, m *Marker) bool {
	return strings.HasPrefix(by, CommitMetadataPrefix) && by != CommitMetadata(m)
}
