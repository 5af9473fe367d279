package processors

import (
	"errors"
	"fmt"
	"strings"
	"sync"

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

// sessionLog is the log of a worker's session. If a session cannot commit, it aborts and returns no
// error: it states the cause in its log alone. sessionLog keeps what it states there.
type sessionLog struct {
	clientLog

	mu        sync.Mutex
	heartbeat error  // the first that failed
	end       string // why the transaction coordinator does not commit
	lost      bool   // partitions were revoked or lost
}

// Level implements kgo.Logger.
func (l *sessionLog) Level() kgo.LogLevel { return max(l.clientLog.Level(), kgo.LogLevelInfo) }

// Log implements kgo.Logger.
func (l *sessionLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	if level <= l.clientLog.Level() {
		l.clientLog.Log(level, msg, keyvals...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case msg == "heartbeat errored" && l.heartbeat == nil:
		l.heartbeat, _ = valueOf("err", keyvals).(error)
	case msg == "transaction session ending":
		l.lost, _ = valueOf("was_failed", keyvals).(bool)
	case strings.HasPrefix(msg, "end transaction with commit not attempted"):
		l.end = "the client did not attempt the commit, because its producer id failed"
	case strings.HasPrefix(msg, "end transaction returned TransactionAbortable"):
		l.end = "the transaction coordinator refused the commit: TRANSACTION_ABORTABLE"
	case strings.HasPrefix(msg, "end transaction returned an unknown server error"):
		l.end = "the transaction coordinator refused the commit: UNKNOWN_SERVER_ERROR"
	}
}

// reset forgets the former transaction.
func (l *sessionLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heartbeat, l.end, l.lost = nil, "", false
}

// cause returns why the session has aborted a transaction that it should commit.
func (l *sessionLog) cause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.end != "":
		return errors.New(l.end)
	case l.heartbeat != nil:
		return fmt.Errorf("heartbeat: %w", l.heartbeat)
	case l.lost:
		return errRevoked
	}
	return errors.New("the group refused the offsets, because a rebalance has begun or its coordinator moves")
}

var errRevoked = errors.New("partitions were revoked or lost during the transaction")

// valueOf returns the value of a key in a message of the client.
func valueOf(key string, keyvals []any) any {
	for i := 0; i+1 < len(keyvals); i += 2 {
		if keyvals[i] == key {
			return keyvals[i+1]
		}
	}
	return nil
}
