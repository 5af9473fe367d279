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

// timeLayout is RFC 3339 in UTC with milliseconds. It sorts as text and has the unit of all
// timestamps of weir.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// NewLogger returns a logger that writes to w. It may be used by several goroutines at once.
//
// Level is the minimum level of written lines: trace (which includes the requests of the Kafka
// client), debug, info, warn or error. Defaults to info. Format is json (one object per line),
// console (text) or auto (console if w is a terminal, else json). Defaults to auto. Console output
// has colours if w is a terminal and NO_COLOR is not set.
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
	// ConsoleWriter writes an event in several calls, and several goroutines log.
	return zerolog.New(zerolog.SyncWriter(w)).Level(lvl).Hook(timestamp{}), nil
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

// timestamp adds the time. The timestamp of zerolog has the layout of a package-level variable,
// with a resolution of seconds.
type timestamp struct{}

func (timestamp) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, time.Now().UTC().Format(timeLayout))
}

// StdLogger returns a standard logger for libraries that require one, such as ErrorLog of net/http.
// Each line becomes a warning with the message event and the line in the field text.
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
