package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/api/weirpb"
)

// Intervals of samples.
const (
	leasesEvery      = 5 * time.Second
	deadLettersEvery = 15 * time.Second
	pacingEvery      = 5 * time.Second
	jobsEvery        = 2 * time.Second
)

// LeaseSource reads the pools and the last decisions of the lease loop. Its method is called by one
// goroutine at a time.
type LeaseSource interface {
	Leases(ctx context.Context) (page.Leases, error)
}

// DeadLetterSource counts the unresolved dead letters of an application. Its method is called by
// one goroutine at a time.
type DeadLetterSource interface {
	// DeadLetters returns the counts by reason; or Unread, if there are too many to read.
	DeadLetters(ctx context.Context) (page.Rejected, error)
}

// pages serves the web pages, for operators who open the printed address in a browser.
type pages struct {
	*Server
	html   *page.Pages
	leases *sample[page.Leases]
	pacing *sample[*weirpb.GetPacingStatusResponse] // nil: the process does not pace
	jobs   *sample[page.Jobs]                       // nil: the process has no job queues
}

// addPages adds the pages and their files to mux.
func (s *Server) addPages(mux *http.ServeMux, jobs *jobService) {
	p := &pages{Server: s, html: page.Parse()}
	if s.cfg.Leases != nil {
		p.leases = &sample[page.Leases]{read: s.cfg.Leases.Leases, every: leasesEvery, panicked: p.panicked}
	}
	if s.cfg.Packs != nil {
		p.pacing = &sample[*weirpb.GetPacingStatusResponse]{read: p.pacingStatus, every: pacingEvery, panicked: p.panicked}
	}
	if jobs.available() == nil {
		p.jobs = &sample[page.Jobs]{read: jobs.pageJobs, every: jobsEvery, panicked: p.panicked}
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		p.write(w, r, http.StatusOK, p.overview(withRequestMeta(r.Context(), r.Header), r))
	})
	if s.cfg.Spend != nil {
		mux.HandleFunc("GET "+spendPath, func(w http.ResponseWriter, r *http.Request) {
			p.write(w, r, http.StatusOK, p.spendPage(withRequestMeta(r.Context(), r.Header), r))
		})
	}
	files, types := page.Files()
	for name, kind := range types {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Cache-Control", "max-age=300")
			http.ServeFileFS(w, r, files, name)
		})
	}
	mux.HandleFunc("/", p.missing)
}

// missing answers a path that does not exist: a page for a browser, a line for a program.
func (p *pages) missing(w http.ResponseWriter, r *http.Request) {
	m := &page.Missing{Path: r.URL.Path}
	switch {
	case r.URL.Path == "/healthz":
		m.Ops = p.opsBase() + "/readyz"
	case r.URL.Path == "/livez" || r.URL.Path == "/readyz" || r.URL.Path == "/metrics" || strings.HasPrefix(r.URL.Path, "/debug/pprof"):
		m.Ops = p.opsBase() + r.URL.Path
	}
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		p.write(w, r, http.StatusNotFound, m)
		return
	}
	text := "no page has this path: see / for the overview"
	if m.Ops != "" {
		text = "no page has this path, which is on the ops listener: " + m.Ops
	}
	http.Error(w, text, http.StatusNotFound)
}

// opsBase is the URL of the ops listener.
func (s *Server) opsBase() string { return s.Scheme() + "://" + s.OpsAddr() }

// write answers with a page, compressed if the browser can read that. No page has a secret, so its
// compressed length reveals none.
func (p *pages) write(w http.ResponseWriter, r *http.Request, status int, v any) {
	var buf bytes.Buffer
	if err := p.html.Render(&buf, v); err != nil {
		p.log.Error().Err(err).Msg("api.index_failed")
		http.Error(w, "the page could not be rendered: see api.index_failed in the log", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", page.Policy)
	h.Set("Vary", "Accept-Encoding, Accept")
	body := buf.Bytes()
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var small bytes.Buffer
		z := gzip.NewWriter(&small)
		if _, err := z.Write(body); err == nil && z.Close() == nil {
			h.Set("Content-Encoding", "gzip")
			body = small.Bytes()
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may have left
}

// overview collects the content of the first page. The parts are read concurrently, so that a
// timeout is paid once.
func (p *pages) overview(ctx context.Context, r *http.Request) *page.Overview {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	o := &page.Overview{
		Now: time.Now(), Started: p.begun, Host: r.Host, Base: p.Scheme() + "://" + r.Host, OpsBase: p.opsBase(),
		TokenNeeded: p.cfg.Token != "", Apps: p.apps.names(), CountsSpend: p.cfg.Spend != nil, HasCache: p.cfg.SpendCache != nil,
		Day: r.URL.Query().Get("day"),
	}
	if o.Day == "" {
		o.Day = o.Now.UTC().Format(time.DateOnly)
	}
	var g sync.WaitGroup
	part := func(why *string, read func() error) { p.part(&g, why, read) }
	part(&o.Errors.Cluster, func() (err error) {
		o.Cluster, err = p.cfg.Cluster.Cluster(ctx)
		return err
	})
	part(&o.Errors.Partitions, func() (err error) {
		o.Partitions, err = p.cluster.partitions(ctx, "")
		return err
	})
	if o.CountsSpend {
		part(&o.Errors.Health, func() (err error) {
			o.Health, err = p.spend.health(ctx)
			return err
		})
		part(&o.Errors.Top, func() (err error) {
			o.Top, o.Charged, err = p.spend.day(ctx, o.Day)
			return err
		})
	}
	if o.HasCache {
		part(&o.Errors.Datasets, func() error {
			o.Datasets = p.cfg.SpendCache.Datasets()
			return nil
		})
	}
	defer g.Wait()
	ready := p.readiness(ctx)
	o.Ready, o.Reasons, o.Stopped = ready.Ready, ready.Reasons, ready.Stopped
	p.sampled(ctx, o)
	return o
}

// part reads a part of a page concurrently. why gets the text of an error.
func (p *pages) part(g *sync.WaitGroup, why *string, read func() error) {
	g.Go(func() {
		defer func() {
			if v := recover(); v != nil { // in a goroutine it would end the process
				p.panicked(v)
				*why = errPanic.Error()
			}
		}()
		if err := read(); err != nil {
			*why = message(err)
		}
	})
}

// panicked notes a panic of a source, as access does for those of handlers.
func (s *Server) panicked(v any) {
	(&access{log: s.log, metrics: s.metrics}).panicked(indexLabel, v)
}

// sampled adds the parts that are read in the background.
func (p *pages) sampled(ctx context.Context, o *page.Overview) {
	if leases, last, ok := p.leases.get(ctx, p.samples); ok {
		leases.Sampled = last
		o.Leases = &leases
	}
	if status, last, ok := p.pacing.get(ctx, p.samples); ok {
		o.Pacing = &page.PacingStatus{Sampled: last, Status: status}
	}
	if jobs, last, ok := p.jobs.get(ctx, p.samples); ok {
		jobs.Sampled = last
		o.Jobs = &jobs
	}
	p.deadLetters.each(ctx, func(r page.Rejected) { o.Rejected = append(o.Rejected, r) })
}
