package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/url"

	"github.com/weirhq/weir/api/render"
)

//go:embed static
var static embed.FS

// Policy is the content security policy of the pages: a script and requests of the same origin
// only, nothing inline, nothing of other origins. Forms go to the same origin.
const Policy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; " +
	"form-action 'self'; frame-ancestors 'none'"

// Files returns the files that pages load, and their content types by name.
func Files() (files fs.FS, types map[string]string) {
	files, err := fs.Sub(static, "static")
	if err != nil {
		files = static // the name of an embedded folder is valid
	}
	return files, map[string]string{
		"weir.css": "text/css; charset=utf-8", "weir.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	}
}

// Pages are the templates of all pages.
type Pages struct{ all *template.Template }

// Parse parses the templates. They are a part of the program, so an error is a defect.
func Parse() *Pages {
	return &Pages{template.Must(template.New("").Funcs(template.FuncMap{"text": render.Text, "spend": SpendPath}).
		ParseFS(static, "static/*.html"))}
}

// Render writes the page of v: an *Overview, a *Spend or a *Missing.
func (p *Pages) Render(w io.Writer, v any) error {
	name := ""
	switch v.(type) {
	case *Overview:
		name = "overview.html"
	case *Spend:
		name = "spend.html"
	case *Missing:
		name = "missing.html"
	}
	if err := p.all.ExecuteTemplate(w, name, v); err != nil {
		return fmt.Errorf("render the page %T: %w", v, err)
	}
	return nil
}

// Missing is the page of an unknown path.
type Missing struct {
	Path string
	Ops  string // address of the path on the ops listener; empty: it is not there either
}

// SpendPath returns the path of the page of a campaign, or of an account if campaign is empty.
func SpendPath(account, campaign string) string {
	q := url.Values{"account": {account}}
	if campaign != "" {
		q.Set("campaign", campaign)
	}
	return "/spend?" + q.Encode()
}
