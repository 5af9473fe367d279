package api

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
)

// access logs and counts every request of the data listener, and recovers its panics. It is the
// outermost handler, so that it also sees requests that the authHandler or a decoder rejects. The
// interceptor passes the outcome of a call to it, because gRPC does not show the outcome in the
// HTTP status.
type access struct {
	log     zerolog.Logger
	metrics *metrics
	next    http.Handler
}

// outcome is what the interceptor and the handler know about a call.
type outcome struct {
	procedure string // its label
	client    string // address of the caller's machine
	reached   bool   // a handler was called
	err       error
	parked    time.Duration // how long it waited for a commit; 0: it did not
}

type outcomeKey struct{}

// outcomeOf returns the outcome of the request of ctx. A context without one gets an outcome that
// is not used.
func outcomeOf(ctx context.Context) *outcome {
	if o, ok := ctx.Value(outcomeKey{}).(*outcome); ok {
		return o
	}
	return &outcome{}
}

func (a *access) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	proc := a.metrics.procedureLabel(r.URL.Path)
	o := &outcome{procedure: proc, client: clientOf(r.RemoteAddr)}
	sw := &statusWriter{ResponseWriter: w}
	a.metrics.inFlight.Inc()
	defer func() {
		a.metrics.inFlight.Dec()
		v := recover()
		if v != nil && v != http.ErrAbortHandler { //nolint:errorlint // net/http compares with == too
			a.panicked(proc, v)
			if sw.status == 0 {
				http.Error(sw, errPanic.Error(), http.StatusInternalServerError)
				v = nil
			}
		}
		a.done(proc, r, sw, o, time.Since(begin))
		if v != nil { // half of the answer was sent: only a cut connection shows the caller that it failed
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http has no other way to cut it
		}
	}()
	a.next.ServeHTTP(sw, r.WithContext(context.WithValue(r.Context(), outcomeKey{}, o)))
}

func (a *access) done(proc string, r *http.Request, sw *statusWriter, o *outcome, took time.Duration) {
	code := codeRejected
	switch {
	case o.err != nil:
		code = connect.CodeOf(o.err).String()
	case o.reached || ((proc == indexLabel || proc == spendLabel) && sw.status == http.StatusOK):
		code = codeOK
	case sw.status >= http.StatusInternalServerError:
		code = connect.CodeInternal.String()
	}
	a.metrics.requests.WithLabelValues(proc, code).Inc()
	a.metrics.seconds.WithLabelValues(proc).Observe((took - o.parked).Seconds())
	e := a.log.WithLevel(accessLevel(code))
	e.Str("procedure", proc).Str("code", code).Int("status", sw.status).Int64("bytes", sw.bytes).
		Str("proto", r.Proto).Str("remote", r.RemoteAddr).Dur("took_ms", took)
	if o.parked > 0 {
		e.Bool("long_poll", true).Dur("parked_ms", o.parked)
	}
	if o.err != nil {
		e.Str("error", o.err.Error())
	}
	e.Msg("api.request")
}

// accessLevel returns the log level of a request: debug for success, error for a defect.
func accessLevel(code string) zerolog.Level {
	switch code {
	case codeOK:
		return zerolog.DebugLevel
	case connect.CodeInternal.String(), connect.CodeUnknown.String(), connect.CodeDataLoss.String():
		return zerolog.ErrorLevel
	}
	return zerolog.InfoLevel
}

func (a *access) panicked(proc string, v any) {
	a.metrics.panics.WithLabelValues(proc).Inc()
	a.log.Error().Str("procedure", proc).Interface("panic", v).Bytes("stack", debug.Stack()).Msg("api.panic")
}

// errPanic is the answer to a request whose handler panicked.
var errPanic = errors.New("internal error: this is a defect of weir: see the event api.panic in its log")

// handlerOptions returns the options of every Connect handler.
func (a *access) handlerOptions() []connect.HandlerOption {
	rescue := func(_ context.Context, spec connect.Spec, _ http.Header, v any) error {
		a.panicked(a.metrics.procedureLabel(spec.Procedure), v)
		return connect.NewError(connect.CodeInternal, errPanic)
	}
	return []connect.HandlerOption{
		connect.WithInterceptors(interceptor(noteOutcome)), // outside of rescue, to see its error
		connect.WithRecover(rescue),
		connect.WithReadMaxBytes(maxBodyBytes),
		connect.WithCompressMinBytes(1024),
	}
}

// noteOutcome is an interceptor that records how a handler ended.
func noteOutcome(ctx context.Context, _ http.Header, next func(context.Context) error) error {
	err := next(ctx)
	o := outcomeOf(ctx)
	o.reached, o.err = true, err
	return err
}

// statusWriter records the status and the size of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Flush implements http.Flusher, which gRPC needs.
func (w *statusWriter) Flush() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the inner writer to http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
