package devbroker

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
)

// kafkaLog logs kfake's errors as warnings. kfake warns of ordinary things, such as a commit that
// took five milliseconds: its warnings are logged at debug, and lower levels are dropped.
type kafkaLog struct {
	log  zerolog.Logger
	full *diskFull
}

// diskFull keeps the first error of a write without space.
type diskFull struct{ first atomic.Pointer[error] }

func (d *diskFull) note(err error) {
	if errors.Is(err, syscall.ENOSPC) {
		d.first.CompareAndSwap(nil, &err)
	}
}

func (l kafkaLog) Logf(level kfake.LogLevel, format string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok { // kfake reports its writes only here
			l.full.note(err)
		}
	}
	switch level {
	case kfake.LogLevelError:
		l.log.Warn().Str("text", fmt.Sprintf(format, args...)).Msg("dev_broker")
	case kfake.LogLevelWarn:
		l.log.Debug().Str("text", fmt.Sprintf(format, args...)).Msg("dev_broker")
	case kfake.LogLevelInfo, kfake.LogLevelDebug, kfake.LogLevelNone:
	}
}
