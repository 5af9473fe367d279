package processorstest

import (
	"strings"
	"sync"
)

// logTail keeps the last lines of a log.
type logTail struct {
	mu   sync.Mutex
	list []string
}

const maxLines = 400

func (l *logTail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= 2*maxLines {
		l.list = append(l.list[:0], l.list[maxLines:]...)
	}
	l.list = append(l.list, string(b))
	return len(b), nil
}

func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.list[max(0, len(l.list)-maxLines):], "")
}
