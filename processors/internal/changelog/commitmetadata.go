package changelog

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/processors/changelogpb"
)

// CommitMetadata names a transaction in the metadata of the offsets it commits, so that a takeover tells what brokers kept half of
// from what somebody set by hand.
func CommitMetadata(m *changelogpb.Marker) string {
	return fmt.Sprintf("%s%d/%d/%d", CommitMetadataPrefix, m.GetOwnerEpoch(), m.GetSequence(), m.GetWrittenAtMs())
}

const CommitMetadataPrefix = "weir transaction "

// PartiallyCommitted says whether an offset was committed by another of our transactions than the marker's. The same one with another
// offset is a fault of ours.
func PartiallyCommitted(by string, m *changelogpb.Marker) bool {
	return strings.HasPrefix(by, CommitMetadataPrefix) && by != CommitMetadata(m)
}
