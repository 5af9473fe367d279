package obs

import (
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// timeLayout is RFC 3339 in UTC with milliseconds: sortable as text, and the unit of every timestamp in weir.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// NewLogger gives a logger that writes to w, safe for concurrent use.
//
// Level is trace (the Kafka client's requests, too), debug, info, warn or error; lines below it are not written. Empty: info. Format is json (one object a line),
// console (for people) or auto (console if w is a terminal, else json). Empty: auto. Console output is coloured on a
// terminal only, and never when NO_COLOR is set.
func NewLogger(w io.Writer, level, format string) (zerolog.Logger, error) {
	lvl, err := parseLevel(level)
	if err != nil {
		return zerolog.Nop(), err
	}
	tty := isTerminal(w)
	switch format {
	case "", "auto":
		if tty {
			w = console(w, tty)
		}
	case "console":
		w = console(w, tty)
	case "json":
	default:
		return zerolog.Nop(), fmt.Errorf("log format %q is unknown: use auto, console or json", format)
	}
	// One event may be more than one Write for some writers, and roles log from many goroutines.
	return zerolog.New(zerolog.SyncWriter(w)).Level(lvl).Hook(stamp{}), nil
}

func parseLevel(level string) (zerolog.Level, error) {
	switch level {
	case "trace":
		return zerolog.TraceLevel, nil
	case "debug":
		return zerolog.DebugLevel, nil
	case "", "info":
		return zerolog.InfoLevel, nil
	case "warn":
		return zerolog.WarnLevel, nil
	case "error":
		return zerolog.ErrorLevel, nil
	}
	return zerolog.NoLevel, fmt.Errorf("log level %q is unknown: use trace, debug, info, warn or error", level)
}

func console(w io.Writer, tty bool) io.Writer {
	return zerolog.ConsoleWriter{
		Out:          w,
		NoColor:      !tty || os.Getenv("NO_COLOR") != "",
		TimeFormat:   "15:04:05.000",
		TimeLocation: time.UTC,
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// stamp adds the time. zerolog's own timestamp follows a package-level layout with a resolution of seconds.
type stamp struct{}

func (stamp) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, time.Now().UTC().Format(timeLayout))
}

// StdLogger gives a standard logger, for libraries that want one (net/http's ErrorLog). Each line becomes a warning
// with event as its message and the line in field text.
func StdLogger(l zerolog.Logger, event string) *log.Logger {
	return log.New(stdWriter{l: l, event: event}, "", 0)
}

type stdWriter struct {
	l     zerolog.Logger
	event string
}

func (s stdWriter) Write(p []byte) (int, error) {
	s.l.Warn().Str("text", strings.TrimRight(string(p), "\n")).Msg(s.event)
	return len(p), nil
}
