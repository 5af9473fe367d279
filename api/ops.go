package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weirhq/weir/internal/obs"
)

// readyLimit bounds a readiness check, below the timeout of usual probes.
const readyLimit = 2 * time.Second

// Readiness is whether a process can serve. It is the body of /readyz.
type Readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons"` // why the process is not ready
	// Stopped are the partitions that are stopped until an operator acts, with their reasons. The
	// process can be ready: it serves its other partitions, and a restart does not help.
	Stopped []string `json:"stopped,omitempty"`
	// Waiting are the roles that wait for another cluster, each a sentence: since when, why, and
	// when they try again. The process can be ready: its other roles work.
	Waiting []string `json:"waiting,omitempty"`
}

// opsMux serves probes, metrics and profiles. The data listener serves none of them.
func (s *Server) opsMux() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]bool{"live": true})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		st := s.readiness(r.Context())
		status := http.StatusOK
		if !st.Ready {
			status = http.StatusServiceUnavailable
		}
		writeJSON(w, status, st)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.cfg.Registry, promhttp.HandlerOpts{
		ErrorLog:            obs.StdLogger(s.log, "api.metrics_failed"),
		ErrorHandling:       promhttp.HTTPErrorOnError, // a part of the metrics would look like all of them
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusNotFound
		if r.URL.Path == "/" {
			status = http.StatusOK
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, "the ops listener of weir serves /livez /readyz /metrics /debug/pprof/\n")
	})
	return mux
}

// readiness calls Config.Ready, unless the server itself is stopping or not yet running.
func (s *Server) readiness(ctx context.Context) Readiness {
	if s.stopping.Load() {
		return Readiness{Reasons: []string{"the process is stopping"}}
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	r := s.cfg.Ready(ctx)
	if r.Reasons == nil {
		r.Reasons = []string{} // [] in JSON, not null
	}
	return r
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the answer cannot be encoded: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the caller may have left
}
