package devbroker

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
)

// The broker keeps the first error of a full disk, whatever the level at which kfake logs it.
func TestDiskFull(t *testing.T) {
	b := &Broker{full: &diskFull{}}
	l := kafkaLog{zerolog.Nop(), b.full}
	l.Logf(kfake.LogLevelWarn, "persist batch %s-%d: %v", "in", 3, errors.New("broken"))
	if err := b.DiskFull(); err != nil {
		t.Errorf("another error is a full disk: %v", err)
	}
	first := fmt.Errorf("write in-3: %w", syscall.ENOSPC)
	l.Logf(kfake.LogLevelWarn, "persist batch %s-%d: %v", "in", 3, first)
	l.Logf(kfake.LogLevelError, "persist to disk: %v", syscall.ENOSPC)
	if err := b.DiskFull(); !errors.Is(err, first) {
		t.Errorf("%v, want the first error", err)
	}
}
