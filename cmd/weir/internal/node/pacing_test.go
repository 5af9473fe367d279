package node

import (
	"slices"
	"testing"
)

// TestPacingMemory: the accounts have a part of the share, and all parts together are the share.
func TestPacingMemory(t *testing.T) {
	a := pacingMemory(loadConfig(t), 1<<30)
	sum := int64(0)
	for _, u := range a.Uses {
		sum += u.Bytes
	}
	at := slices.IndexFunc(a.Uses, func(u Use) bool { return u.What == "accounts" })
	if at < 0 || a.Uses[at].Bytes < 145_000*pacedBytes || sum > 1<<30 {
		t.Errorf("%d bytes of 1 GiB: %+v", sum, a.Uses)
	}
}
