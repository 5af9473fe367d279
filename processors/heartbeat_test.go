package processors

import (
	"testing"
	"time"
)

// A session ends after twelve lost heartbeats. A long session does not slow rebalances down: a
// member learns of one by its next heartbeat.
func TestHeartbeatInterval(t *testing.T) {
	for session, want := range map[time.Duration]time.Duration{6 * time.Second: 500 * time.Millisecond, 30 * time.Minute: 3 * time.Second} {
		if got := (&Config{SessionTimeout: session}).heartbeatInterval(); got != want {
			t.Errorf("session of %s: a heartbeat every %s, want %s", session, got, want)
		}
	}
}
