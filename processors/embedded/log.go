package embedded

import (
	"fmt"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
)

// kafkaLog passes on what the broker says that matters: its debug and info lines are one per request.
type kafkaLog struct{ log zerolog.Logger }

func (l kafkaLog) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Error().Str("said", fmt.Sprintf(format, args...)).Msg("broker")
	case kfake.LogLevelWarn:
		l.log.Warn().Str("said", fmt.Sprintf(format, args...)).Msg("broker")
	case kfake.LogLevelInfo, kfake.LogLevelDebug, kfake.LogLevelNone:
	}
}
