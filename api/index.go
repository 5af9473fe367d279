package api

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"net/http"
	"time"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
)

//go:embed static
var static embed.FS

// indexPage is the content of the index page. A part that could not be read shows its error, never
// a zero.
type indexPage struct {
	Now         string
	Host        string // as the browser reached it
	Base        string // URL of the data listener
	OpsBase     string // URL of the ops listener
	Ready       Readiness
	Cluster     *weirpb.GetClusterResponse
	ClusterErr  string
	Partitions  []partitionRow
	PartErr     string
	Health      []healthRow
	HealthErr   string
	Gaps        []*weirpb.Gap
	TokenNeeded bool
}

type partitionRow struct {
	*weirpb.Partition
	LagText string
}

type healthRow struct {
	*weirpb.ShardHealth
	Written string
}

// addIndex adds the index page to mux: HTML that reloads itself, for operators who open the printed
// address in a browser.
func (s *Server) addIndex(mux *http.ServeMux) {
	page := template.Must(template.ParseFS(static, "static/index.html"))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		var buf bytes.Buffer
		if err := page.Execute(&buf, s.indexPage(withRequestMeta(r.Context(), r.Header), r.Host)); err != nil {
			s.log.Error().Err(err).Msg("api.index_failed")
			http.Error(w, "the page could not be rendered: see api.index_failed in the log", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(buf.Bytes()) // the caller may have left
	})
	for path, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"} {
		mux.HandleFunc("GET /"+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Cache-Control", "max-age=300")
			http.ServeFileFS(w, r, static, "static/"+path)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "there is nothing at this path: see / for the index", http.StatusNotFound)
	})
}

func (s *Server) indexPage(ctx context.Context, host string) indexPage {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	p := indexPage{
		Now:         time.Now().UTC().Format(time.RFC3339),
		Host:        host,
		Base:        s.Scheme() + "://" + host,
		OpsBase:     s.Scheme() + "://" + s.OpsAddr(),
		Ready:       s.readiness(ctx),
		TokenNeeded: s.cfg.Token != "",
	}
	var err error
	if p.Cluster, err = s.cfg.Cluster.Cluster(ctx); err != nil {
		p.ClusterErr = err.Error()
	}
	parts, err := s.cluster.partitions(ctx)
	if err != nil {
		p.PartErr = err.Error()
	}
	for _, part := range parts {
		p.Partitions = append(p.Partitions, partitionRow{Partition: part, LagText: render.Lag(part)})
	}
	health, err := s.spend.health(ctx)
	if err != nil {
		p.HealthErr = err.Error()
	}
	p.Gaps = health.GetGaps()
	for _, sh := range health.GetShards() {
		p.Health = append(p.Health, healthRow{ShardHealth: sh, Written: render.Time(sh.GetWrittenAtMs())})
	}
	return p
}
