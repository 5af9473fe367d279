package obs

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func TestNewLoggerLevels(t *testing.T) {
	order := []zerolog.Level{zerolog.DebugLevel, zerolog.InfoLevel, zerolog.WarnLevel, zerolog.ErrorLevel}
	for level, lines := range map[string]int{"debug": 4, "": 3, "info": 3, "warn": 2, "error": 1} {
		var buf bytes.Buffer
		l, err := NewLogger(&buf, level, "json")
		if err != nil {
			t.Fatal(err)
		}
		for _, lv := range order {
			l.WithLevel(lv).Msg("test.event")
		}
		if got := strings.Count(buf.String(), "\n"); got != lines {
			t.Errorf("level %q wrote %d lines, want %d", level, got, lines)
		}
	}
}

func TestNewLoggerJSONLine(t *testing.T) {
	for _, format := range []string{"", "auto", "json"} { // auto is JSON here
		var buf bytes.Buffer
		l, err := NewLogger(&buf, "info", format)
		if err != nil {
			t.Fatal(err)
		}
		l.Info().Int64("n", 7).Msg("test.event")
		var line struct {
			Level, Message, Time string
			N                    int64
		}
		if err := json.Unmarshal(buf.Bytes(), &line); err != nil {
			t.Fatalf("format %q: %v in %q", format, err, buf.String())
		}
		at, err := time.Parse(timeLayout, line.Time)
		if err != nil || time.Since(at) > time.Minute || !strings.HasSuffix(line.Time, "Z") {
			t.Errorf("format %q: time %q, want now in UTC (%v)", format, line.Time, err)
		}
		if line.Level != "info" || line.Message != "test.event" || line.N != 7 {
			t.Errorf("format %q: %+v", format, line)
		}
	}
}

func TestNewLoggerConsole(t *testing.T) {
	var buf bytes.Buffer
	l, err := NewLogger(&buf, "info", "console")
	if err != nil {
		t.Fatal(err)
	}
	l.Warn().Str("k", "v").Msg("test.event")
	got := buf.String()
	if !strings.Contains(got, "WRN test.event k=v") || strings.Contains(got, "\x1b[") {
		t.Errorf("console line %q: want text without colour outside a terminal", got)
	}
	if _, err := time.Parse("15:04:05.000", strings.Fields(got)[0]); err != nil {
		t.Errorf("console line %q: %v", got, err)
	}
}

func TestNewLoggerRefuses(t *testing.T) {
	for _, c := range []struct{ level, format, want string }{
		{"loud", "json", `log level "loud" is unknown: use trace, debug, info, warn or error`},
		{"info", "xml", `log format "xml" is unknown: use auto, console or json`},
	} {
		if _, err := NewLogger(&bytes.Buffer{}, c.level, c.format); err == nil || err.Error() != c.want {
			t.Errorf("NewLogger(%q, %q) = %v, want %q", c.level, c.format, err, c.want)
		}
	}
}

func TestStdLogger(t *testing.T) {
	var buf bytes.Buffer
	l, err := NewLogger(&buf, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	StdLogger(l, "test.http").Print("http: TLS handshake error")
	var line map[string]string
	if err := json.Unmarshal(buf.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["message"] != "test.http" || line["text"] != "http: TLS handshake error" || line["level"] != "warn" {
		t.Errorf("%v", line)
	}
}
