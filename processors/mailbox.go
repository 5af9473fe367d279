package processors

import "sync"

// mailbox carries functions from other goroutines to the loop of a worker, and interrupts its poll.
type mailbox struct {
	mu   sync.Mutex
	list []func()
	wake func()
}

func (m *mailbox) post(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, f)
	if m.wake != nil {
		m.wake()
	}
}

func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list = nil
	return list
}

// interrupt sets the function that post calls to end a poll. If a function is waiting, the poll
// ends at once.
func (m *mailbox) interrupt(wake func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake = wake
	if wake != nil && len(m.list) > 0 {
		wake()
	}
}
