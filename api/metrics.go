package api

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// metrics is the metrics of one server.
type metrics struct {
	procedures map[string]bool // by path

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	panics   *prometheus.CounterVec
	inFlight prometheus.Gauge
	parked   prometheus.Gauge
	waits    *prometheus.HistogramVec
	conns    *prometheus.GaugeVec
	refused  *prometheus.CounterVec
}

// Values of the label code in addition to the codes of Connect.
const (
	codeOK       = "ok"
	codeRejected = "rejected" // rejected before a handler: malformed, too large, unknown path, wrong method, no token
)

func newMetrics(r *obs.Registry) (*metrics, error) {
	m := &metrics{
		procedures: map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_api_requests_total",
			Help: "Requests answered on the data listener, by procedure and Connect code; code rejected did not reach a handler.",
		}, []string{"procedure", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "weir_api_request_seconds",
			Help:    "Time from a request's headers to the end of its answer, by procedure, without the time for which it was parked.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10), // 0.1 ms to 26 s
		}, []string{"procedure"}),
		panics: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_api_panics_total",
			Help: "Panics of a handler, by procedure. Each is a defect; the log has its stack (api.panic).",
		}, []string{"procedure"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_api_requests_in_flight",
			Help: "Requests on the data listener that are worked on now. Parked requests are not in it.",
		}),
		parked: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "weir_api_parked_requests",
			Help: "Requests on the data listener that wait for a commit: long polls, and questions with wait.",
		}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "weir_api_parked_seconds",
			Help:    "Time for which a request was parked, by procedure.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9), // 1 ms to 66 s
		}, []string{"procedure"}),
		conns: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "weir_api_connections",
			Help: "Open connections, by listener.",
		}, []string{"listener"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_api_connections_refused_total",
			Help: "Connections closed at once because the listener, or one address, had as many as it may, by listener.",
		}, []string{"listener"}),
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.panics, m.inFlight, m.parked, m.waits, m.conns, m.refused} {
		errs = append(errs, r.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("api: register metrics (one registry serves one Server): %w", err)
	}
	m.begin()
	return m, nil
}

// begin gives the series of successful requests and of panics the value 0, so that increase and
// rate see the first event.
func (m *metrics) begin() {
	list := procedures()
	for _, p := range list {
		m.procedures[p] = true
	}
	for _, p := range append(list, indexLabel, spendLabel, queryLabel) {
		m.requests.WithLabelValues(p, codeOK)
		m.panics.WithLabelValues(p)
	}
}

// Values of the label procedure of the pages and of the queries.
const (
	indexLabel = "index" // the overview
	spendLabel = "spend"
	queryLabel = "query" // of Config.Queries
)

// procedures lists the procedures of all services.
func procedures() (list []string) {
	for _, file := range []protoreflect.FileDescriptor{weirpb.File_weir_proto, jobpb.File_jobservice_proto} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for k := range service.Methods().Len() {
				list = append(list, fmt.Sprintf("/%s/%s", service.FullName(), service.Methods().Get(k).Name()))
			}
		}
	}
	return list
}

// procedureLabel maps a request's path to a closed set, so that callers cannot create series.
func (m *metrics) procedureLabel(path string) string {
	switch {
	case m.procedures[path]:
		return path
	case path == "/":
		return indexLabel
	case path == spendPath:
		return spendLabel
	case strings.HasPrefix(path, queryPath):
		return queryLabel
	}
	return "other"
}
