package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/stream"
)

// Alert is what is sent to a webhook.
type Alert struct {
	ID       string // the same for each repetition
	Document any    // the body, as JSON
}

// Decode returns the alert of a record.
type Decode func(r *stream.SinkRecord) (Alert, error)

// webhook sends alerts to a server. URL and Decode must be set.
type webhook struct {
	Decode Decode
	// URL gets each alert as the body of a POST request.
	URL string
	// Secret signs the bodies: the header Weir-Signature is "sha256=" and the hexadecimal HMAC of
	// the body. Defaults to none: requests are not signed.
	Secret []byte
	// MaxAge is the age from which on an alert is not sent any more. Defaults to 24 h.
	MaxAge time.Duration
	// Timeout bounds a request. Defaults to 10 s.
	Timeout time.Duration
	// Transport carries the requests. Defaults to http.DefaultTransport.
	Transport http.RoundTripper
	// Log gets a line for each alert that is not sent. Defaults to none.
	Log *zerolog.Logger
	// Sent is called for each alert that the server has accepted. Defaults to nothing.
	Sent func(id string)
}

// Headers of a request.
const (
	HeaderID        = "Idempotency-Key" // Alert.ID: repetitions of an alert have the same
	HeaderSignature = "Weir-Signature"
)

// do sends the alert of a record: stream.Sink.Do. Its error means that the alert has to be sent
// again: PACE-26.
func (w *webhook) do(ctx context.Context, r *stream.SinkRecord) error {
	log := w.Log
	if log == nil {
		none := zerolog.Nop()
		log = &none
	}
	d, err := w.Decode(r)
	if err != nil {
		log.Error().Int32("partition", r.Partition).Int64("offset", r.Offset).Err(err).Msg("alert_undecodable")
		return nil
	}
	if age := time.Since(r.Time()); age > cmp.Or(w.MaxAge, 24*time.Hour) {
		log.Warn().Str("id", d.ID).Dur("age_ms", age).Msg("alert_expired")
		return nil
	}
	switch err := w.send(ctx, d); {
	case errors.Is(err, errRefused):
		log.Error().Str("id", d.ID).Err(err).Msg("alert_refused")
	case err != nil:
		return err
	case w.Sent != nil:
		w.Sent(d.ID)
	}
	return nil
}

// errRefused means that the server has refused an alert for good.
var errRefused = errors.New("the webhook has refused the alert")

// send sends a document. Its error is errRefused, or means that another attempt may succeed.
func (w *webhook) send(ctx context.Context, d Alert) error {
	body, err := json.Marshal(d.Document)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.Timeout, 10*time.Second))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(HeaderID, d.ID)
	if len(w.Secret) > 0 {
		req.Header.Set(HeaderSignature, Sign(w.Secret, body))
	}
	// A redirect would send the alert to another server.
	c := &http.Client{Transport: w.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // the answer is read
	text, _ := io.ReadAll(io.LimitReader(res.Body, 200))
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		return fmt.Errorf("the webhook answers %s: %q", res.Status, text)
	default:
		return fmt.Errorf("%w: %s: %q", errRefused, res.Status, text)
	}
}

// Sign returns the value of HeaderSignature for a body. A server compares it with the header, in
// constant time.
func Sign(secret, body []byte) string {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write(body) // it never fails
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}
