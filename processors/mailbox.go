package processors

import "sync"

// mailbox brings what happens on other goroutines to a worker's loop, and wakes it from a poll.
type mailbox struct {
	mu   sync.Mutex
	list []func()
	wake func()
}

func (n *mailbox) post(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, f)
	if n.wake != nil {
		n.wake()
	}
}

func (n *mailbox) take() []func() {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list = nil
	return list
}

// interrupt sets what post calls to end a poll; at once if there is news already.
func (n *mailbox) interrupt(wake func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wake = wake
	if wake != nil && len(n.list) > 0 {
		wake()
	}
}
