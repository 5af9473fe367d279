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

// PartiallyCommitted reports whether another transaction than the marker's committed an offset. by
// is the metadata of the offset. If the transaction is the same but the offset differs, the runtime
// has a bug.
func PartiallyCommitted(by string, m *changelogpb.Marker) bool {
	return strings.HasPrefix(by, CommitMetadataPrefix) && by != CommitMetadata(m)
}
