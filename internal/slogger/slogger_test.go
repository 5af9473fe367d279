package slogger

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/rs/zerolog"
)

// text returns a handler without times that writes to out.
func text(out *bytes.Buffer, least slog.Level) slog.Handler {
	return slog.NewTextHandler(out, &slog.HandlerOptions{
		Level: least,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})
}

func TestFieldsArrive(t *testing.T) {
	var out bytes.Buffer
	log := New(text(&out, slog.LevelDebug-4)).With().Str("event", "restored").Logger()
	log.Warn().Int("partition", 3).Uint64("offset", 1<<62+1).Float64("share", 0.5).Bool("warm", true).
		Err(errors.New("no luck")).Strs("topics", []string{"a", "b"}).Msg("partition restored")
	log.Trace().Send()
	log.Error().Dict("at", zerolog.Dict().Str("topic", "a")).Msg("stopped")
	want := `level=WARN msg="partition restored" event=restored partition=3 offset=4611686018427387905 share=0.5 warm=true error="no luck" topics="[a b]"
level=DEBUG-4 msg="" event=restored
level=ERROR msg=stopped event=restored at=map[topic:a]
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestLevels: a handler gets what it takes, and what it does not take is not even encoded.
func TestLevels(t *testing.T) {
	for _, x := range []struct {
		least slog.Level
		want  zerolog.Level
		lines int
	}{
		{slog.LevelDebug - 4, zerolog.TraceLevel, 5},
		{slog.LevelDebug, zerolog.DebugLevel, 4},
		{slog.LevelInfo, zerolog.InfoLevel, 3},
		{slog.LevelWarn, zerolog.WarnLevel, 2},
		{slog.LevelError, zerolog.ErrorLevel, 1},
		{slog.LevelError + 8, zerolog.Disabled, 0},
	} {
		var out bytes.Buffer
		log := New(text(&out, x.least))
		for l := zerolog.TraceLevel; l <= zerolog.ErrorLevel; l++ {
			log.WithLevel(l).Msg("x")
		}
		if lines := bytes.Count(out.Bytes(), []byte("\n")); log.GetLevel() != x.want || lines != x.lines {
			t.Errorf("least %v: level %v with %d lines, want %v with %d", x.least, log.GetLevel(), lines, x.want, x.lines)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{}`, `{"level":"info","message":"m","a":1,"b":[1e400,null]}`, `{"a":`, `[]`, `{"a":{"b":18446744073709551615}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, event []byte) {
		var out bytes.Buffer
		w := writer{text(&out, slog.LevelDebug)}
		if n, err := w.WriteLevel(zerolog.InfoLevel, event); (err == nil) != (n == len(event) && out.Len() > 0) && len(event) > 0 {
			t.Errorf("%q: %d, %v, wrote %q", event, n, err, fmt.Sprint(&out))
		}
	})
}
