package connect

import (
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// Pages reads the rows of an answer page by page.
type Pages[R any] struct {
	Noun string // the rows, in a note that there are more
	All  R      // the rows of all pages, without any before the first
	// Limit is the number of rows of all pages together, Most that of one page.
	Limit, Most int
	// Next adds a page of at most limit rows to All. It returns their number and the token of the
	// next page, "" after the last one.
	Next func(c *api.Client, limit int32) (rows int, token string, err error)
}

// PrintPages reads pages until it has p.Limit rows or no page follows. show sends the request with
// ask and prints the answer, which is p.All. PrintPages notes the token of the page that follows,
// which JSON and YAML have in the document.
func PrintPages[R any](a *cli.App, p Pages[R], show func(ask func(*api.Client) (R, error)) error) error {
	more := ""
	if err := show(func(c *api.Client) (R, error) {
		var err error
		more, err = p.read(c)
		return p.All, err
	}); err != nil {
		return err
	}
	if more != "" && a.Format != cli.FormatJSON && a.Format != cli.FormatYAML {
		a.Notef("there are more %s: add --page %s", p.Noun, more)
	}
	return nil
}

// read returns the token of the page that follows.
func (p Pages[R]) read(c *api.Client) (token string, err error) {
	for read := 0; ; {
		n, token, err := p.Next(c, int32(min(p.Limit-read, p.Most)))
		if read += n; err != nil || token == "" || read >= p.Limit {
			return token, err
		}
	}
}
