package queues

import "testing"

// TestChanged: the channel is closed at the next commit. After the end of the shard each is closed.
func TestChanged(t *testing.T) {
	closed := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	c := &commits{}
	c.notify() // no reader waits
	first := c.Changed()
	if closed(first) || first != c.Changed() {
		t.Error("a channel is closed without a commit, or two readers have different ones")
	}
	c.notify()
	second := c.Changed()
	if !closed(first) || closed(second) {
		t.Error("after a commit")
	}
	c.end()
	c.notify()
	c.end()
	if !closed(second) || !closed(c.Changed()) {
		t.Error("after the end")
	}
	none := &commits{}
	none.end()
	if !closed(none.Changed()) {
		t.Error("after an end for which no reader waited")
	}
}
