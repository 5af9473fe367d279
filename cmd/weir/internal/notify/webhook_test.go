package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/alert"
	"github.com/weirhq/weir/stream"
)

func alertOf() *eventspb.BudgetAlert {
	return &eventspb.BudgetAlert{
		Account: "acme", Campaign: "spring", BudgetDay: 2026_11_27, Currency: "EUR", Percent: 80, BudgetMicros: 100_000_000,
		SpentMicros: 80_125_000, AtMs: 1_795_788_300_000, Version: 3, WriterDc: "eu",
	}
}

// server answers requests with codes, one after the other; 0 is a connection that breaks.
type server struct {
	codes  []int
	bodies [][]byte
	heads  []http.Header
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.bodies, s.heads = append(s.bodies, body), append(s.heads, r.Header)
	code := s.codes[0]
	s.codes = s.codes[1:]
	if code == 0 {
		return nil, errors.New("connection reset")
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(strings.NewReader("text")), Request: r}, nil
}

func decode(r *stream.SinkRecord) (Alert, error) {
	d, err := alert.Decode(r.Value)
	if err != nil {
		return Alert{}, err
	}
	return Alert{d.ID, d}, nil
}

func record(t *testing.T, m *eventspb.BudgetAlert, age time.Duration) *stream.SinkRecord {
	t.Helper()
	value, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return &stream.SinkRecord{Value: value, TimeMs: time.Now().Add(-age).UnixMilli()}
}

// TestWebhook: an alert is sent again until the server accepts or refuses it. Those that are too
// old, or no alerts, are not sent. Each of them is in the log.
func TestWebhook(t *testing.T) {
	for _, c := range []struct {
		name  string
		codes []int
		sent  int
		event string
	}{
		{"accepted", []int{204}, 1, ""},
		{"outage", []int{0, 503, 429, 408, 200}, 1, ""},
		{"refused", []int{500, 400}, 0, "alert_refused"},
		{"redirect", []int{302}, 0, "alert_refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text bytes.Buffer
			log := zerolog.New(&text)
			s := &server{codes: c.codes}
			sent := 0
			w := &webhook{Decode: decode, URL: "https://hook/x", Secret: []byte("secret"), Transport: s, Log: &log, Sent: func(string) { sent++ }}
			r := record(t, alertOf(), 0)
			for n := range c.codes {
				if err := w.do(t.Context(), r); (err != nil) != (n < len(c.codes)-1) {
					t.Errorf("call %d: %v", n, err)
				}
			}
			if sent != c.sent || !strings.Contains(text.String(), c.event) || c.event == "" && text.Len() > 0 {
				t.Errorf("%d sent, log %s", sent, text.String())
			}
			for i, body := range s.bodies {
				d := &alert.Document{}
				if err := json.Unmarshal(body, d); err != nil || *d != *alert.New(alertOf()) {
					t.Errorf("%s: %v", body, err)
				}
				h := s.heads[i]
				if h.Get(HeaderID) != d.ID || h.Get("Content-Type") != "application/json" || h.Get(HeaderSignature) != Sign([]byte("secret"), body) {
					t.Errorf("headers %v", h)
				}
			}
		})
	}
	var text bytes.Buffer
	log := zerolog.New(&text)
	w := &webhook{Decode: decode, URL: "https://hook/x", Transport: &server{}, Log: &log}
	for _, r := range []*stream.SinkRecord{
		record(t, alertOf(), 25*time.Hour),
		{Value: []byte{1}, TimeMs: time.Now().UnixMilli()},
		record(t, &eventspb.BudgetAlert{Campaign: "spring"}, 0),
	} {
		if err := w.do(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
	if strings.Count(text.String(), "alert_expired") != 1 || strings.Count(text.String(), "alert_undecodable") != 2 {
		t.Error(text.String())
	}
}

// TestUnsigned: without a secret there is no signature. The end of the caller's context is an
// error.
func TestUnsigned(t *testing.T) {
	s := &server{codes: []int{200}}
	w := &webhook{Decode: decode, URL: "https://hook/x", Transport: s}
	if err := w.do(t.Context(), record(t, alertOf(), 0)); err != nil || s.heads[0].Get(HeaderSignature) != "" {
		t.Errorf("%v %v", err, s.heads)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Transport = nil
	if err := w.do(ctx, record(t, alertOf(), 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
