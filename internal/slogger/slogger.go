package slogger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rs/zerolog"
)

// New returns a logger that writes to h.
//
//nolint:contextcheck,nolintlint // a log belongs to no request; read at the callers
func New(h slog.Handler) zerolog.Logger {
	least := zerolog.Disabled
	for l := zerolog.PanicLevel; l >= zerolog.TraceLevel; l-- {
		if h.Enabled(context.Background(), level(l)) {
			least = l
		}
	}
	return zerolog.New(writer{h}).Level(least)
}

// Choose returns the logger of a Config with both kinds: one that writes to h, if h is set;
// else log; else a logger that discards its events.
//
//nolint:contextcheck,nolintlint // a log belongs to no request; read at the callers
func Choose(log *zerolog.Logger, h slog.Handler) *zerolog.Logger {
	switch {
	case h != nil:
		l := New(h)
		return &l
	case log != nil:
		return log
	}
	nop := zerolog.Nop()
	return &nop
}

// level is the slog level of a zerolog level. NoLevel is information.
func level(l zerolog.Level) slog.Level {
	switch l {
	case zerolog.TraceLevel:
		return slog.LevelDebug - 4
	case zerolog.DebugLevel:
		return slog.LevelDebug
	case zerolog.WarnLevel:
		return slog.LevelWarn
	case zerolog.ErrorLevel:
		return slog.LevelError
	case zerolog.FatalLevel, zerolog.PanicLevel:
		return slog.LevelError + 4
	default:
		return slog.LevelInfo
	}
}

// writer is a zerolog.LevelWriter.
type writer struct{ handler slog.Handler }

// Write implements io.Writer, for events without a level.
func (w writer) Write(event []byte) (int, error) { return w.WriteLevel(zerolog.NoLevel, event) }

// WriteLevel implements zerolog.LevelWriter. event is a JSON object.
func (w writer) WriteLevel(l zerolog.Level, event []byte) (int, error) {
	r := slog.NewRecord(time.Now(), level(l), "", 0)
	if err := decode(event, &r); err != nil {
		return 0, fmt.Errorf("log event %q: %w", event, err)
	}
	if err := w.handler.Handle(context.Background(), r); err != nil {
		return 0, err
	}
	return len(event), nil
}

// decode sets the message and the attributes of r from a JSON object, in the object's order.
func decode(event []byte, r *slog.Record) error {
	d := json.NewDecoder(bytes.NewReader(event))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(err, errors.New("not a JSON object"))
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return fmt.Errorf("field name %v is not a string", token)
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		switch name {
		case zerolog.MessageFieldName:
			r.Message = fmt.Sprint(v)
		case zerolog.LevelFieldName:
		default:
			r.AddAttrs(slog.Attr{Key: name, Value: value(v)})
		}
	}
	return nil
}

// value turns a decoded JSON value into one of slog. Whole numbers stay exact.
func value(v any) slog.Value {
	n, ok := v.(json.Number)
	if !ok {
		return slog.AnyValue(v)
	}
	if i, err := n.Int64(); err == nil {
		return slog.Int64Value(i)
	}
	f, err := n.Float64()
	if err != nil {
		return slog.StringValue(n.String())
	}
	return slog.Float64Value(f)
}
