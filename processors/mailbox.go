package processors

import "sync"

// mailbox carries functions from other goroutines to the loop of a worker, and interrupts its poll.
type mailbox struct {
	mu   sync.Mutex
	list []func()
	wake func()
	// nudged is set by a nudge that no take has seen.
	nudged bool
}

func (m *mailbox) post(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, f)
	if m.wake != nil {
		m.wake()
	}
}

// nudge interrupts the poll without a function.
func (m *mailbox) nudge() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nudged = true
	if m.wake != nil {
		m.wake()
	}
}

func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.list
	m.list, m.nudged = nil, false
	return list
}

// interrupt sets the function that post and nudge call to end a poll. It reports whether the poll
// need not wait, because one of them was called before.
func (m *mailbox) interrupt(wake func()) (due bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake = wake
	return m.nudged || len(m.list) > 0
}
