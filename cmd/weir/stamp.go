package main

import (
	"time"

	"github.com/rs/zerolog"
)

// stampMillis adds the time to a log message. The logger's own stamp has whole seconds unless a global variable of its
// package is changed, and commits happen ten times a second.
func stampMillis(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, time.Now().Format("2006-01-02T15:04:05.000Z07:00"))
}
