package processors

import (
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
)

// clientLog logs the messages of the Kafka client one level lower than the client does, because the
// client repeats most failed requests by itself.
type clientLog struct{ log zerolog.Logger }

// Level implements kgo.Logger.
func (l clientLog) Level() kgo.LogLevel {
	switch l.log.GetLevel() {
	case zerolog.TraceLevel:
		return kgo.LogLevelDebug
	case zerolog.DebugLevel:
		return kgo.LogLevelInfo
	case zerolog.InfoLevel, zerolog.WarnLevel:
		return kgo.LogLevelError
	case zerolog.ErrorLevel, zerolog.FatalLevel, zerolog.PanicLevel, zerolog.NoLevel, zerolog.Disabled:
	}
	return kgo.LogLevelNone
}

// Log implements kgo.Logger.
func (l clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	e := l.log.Trace()
	switch level {
	case kgo.LogLevelError:
		e = l.log.Warn()
	case kgo.LogLevelWarn, kgo.LogLevelInfo:
		e = l.log.Debug()
	case kgo.LogLevelDebug, kgo.LogLevelNone:
	}
	e.Str("text", msg).Fields(keyvals).Msg("kafka_client")
}
