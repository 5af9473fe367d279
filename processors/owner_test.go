package processors

import (
	"testing"
	"time"
)

// TestOwnersAfterAssignment: an assignment of this process makes older answers of the brokers old.
// The partitions in it are of this process before they are being restored.
func TestOwnersAfterAssignment(t *testing.T) {
	c := newOwnerCache(nil, &Runtime{})
	c.freshUntil = time.Now().Add(maxOwnersAge)
	if !c.isFresh() {
		t.Error("a new answer is not fresh")
	}
	c.onAssignment(1, []int32{3})
	if c.isFresh() {
		t.Error("an answer from before the assignment is fresh")
	}
	for p, want := range map[int32]bool{2: false, 3: true} {
		if c.isAssigned(p) != want {
			t.Errorf("partition %d is assigned: %t", p, !want)
		}
	}
	c.onAssignment(0, []int32{2})
	c.onAssignment(1, nil)
	for p, want := range map[int32]bool{2: true, 3: false} {
		if c.isAssigned(p) != want {
			t.Errorf("after another assignment partition %d is assigned: %t", p, !want)
		}
	}
}
