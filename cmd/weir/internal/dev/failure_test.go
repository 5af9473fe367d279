package dev

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/processors/devbroker"
)

// The errors of the dev broker have exit codes, and remedies that fit them.
func TestBrokerFailures(t *testing.T) {
	full := fmt.Errorf("write: %w", syscall.ENOSPC)
	for name, tc := range map[string]struct {
		err        error
		code       int
		want, lack string
	}{
		"directory": {brokerFailure(fmt.Errorf("%w: x", devbroker.ErrLocked)), 73, "--data-dir", "--kafka-port"},
		"port":      {brokerFailure(fmt.Errorf("%w: 9092", devbroker.ErrInUse)), 69, "--kafka-port", "--data-dir"},
		"other":     {brokerFailure(errors.New("damaged")), 1, "--data-dir", "--kafka-port"},
		"full disk": {diskFailure(errors.New("UNKNOWN_SERVER_ERROR"), full), 74, "free space", "weir doctor"},
		"not full":  {diskFailure(errors.New("UNKNOWN_SERVER_ERROR"), nil), 1, "weir doctor", "free space"},
	} {
		f := cli.Explain(tc.err)
		if name == "full disk" && !strings.HasPrefix(f.Why, "write: no space left on device") {
			t.Errorf("%s: why: %s", name, f.Why)
		}
		if f.Code != tc.code || !strings.Contains(f.Do, tc.want) || strings.Contains(f.Do, tc.lack) {
			t.Errorf("%s: code %d, do: %s", name, f.Code, f.Do)
		}
	}
	if err := diskFailure(nil, full); err != nil {
		t.Errorf("an orderly end: %v", err)
	}
}
