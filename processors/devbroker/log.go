package devbroker

import (
	"fmt"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
)

// kafkaLog logs kfake's errors as warnings. kfake warns of ordinary things, such as a commit that
// took five milliseconds: its warnings are logged at debug, and lower levels are dropped.
type kafkaLog struct{ log zerolog.Logger }

func (l kafkaLog) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Warn().Str("text", fmt.Sprintf(format, args...)).Msg("dev_broker")
	case kfake.LogLevelWarn:
		l.log.Debug().Str("text", fmt.Sprintf(format, args...)).Msg("dev_broker")
	case kfake.LogLevelInfo, kfake.LogLevelDebug, kfake.LogLevelNone:
	}
}
