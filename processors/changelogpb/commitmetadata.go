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

// Note is the metadata of the offsets that a transaction commits.
type Note struct {
	Transaction string // CommitMetadata; other text if an operator set the offset
	Changelog   string // to which it writes; empty in offsets of older versions
	Partitions  int32  // of the state; 0 in offsets of older versions
}

func (n Note) String() string {
	return n.Transaction + noteChangelog + n.Changelog + notePartitions + strconv.Itoa(int(n.Partitions))
}

// ParseNote is the inverse of Note.String. It accepts any text: an operator may have written it.
func ParseNote(text string) Note {
	transaction, rest, _ := strings.Cut(text, noteChangelog)
	changelog, count, _ := strings.Cut(rest, notePartitions)
	n, err := strconv.ParseInt(count, 10, 32)
	if err != nil {
		n = 0
	}
	return Note{transaction, changelog, int32(n)}
}

// PartiallyCommitted reports whether another transaction than the marker's committed an offset. by
// is the metadata of the offset. If the transaction is the same but the offset differs, the runtime
// has a bug.
func PartiallyCommitted(by string, m *Marker) bool {
	return strings.HasPrefix(by, CommitMetadataPrefix) && by != CommitMetadata(m)
}
