package processorstest

import (
	"strings"
	"sync"
)

// logTail keeps the last lines of a log.
type logTail struct {
	mu    sync.Mutex
	lines []string
}

const maxLines = 400

func (l *logTail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) >= 2*maxLines {
		l.lines = append(l.lines[:0], l.lines[maxLines:]...)
	}
	l.lines = append(l.lines, string(b))
	return len(b), nil
}

func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines[max(0, len(l.lines)-maxLines):], "")
}
