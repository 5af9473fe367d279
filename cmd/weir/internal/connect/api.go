package connect

import (
	"fmt"
	"io"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
)

// APIClient returns a client of the server that flags and configuration name.
func APIClient(a *cli.App) (*api.Client, error) {
	c, err := a.LoadConfig()
	if err != nil {
		return nil, err
	}
	client, _, err := clientOf(a, c)
	return client, err
}

// WithAPI calls fn with a client of the server that flags and configuration name.
func WithAPI(a *cli.App, fn func(*api.Client) error) error {
	client, err := APIClient(a)
	if err != nil {
		return err
	}
	defer client.Close()
	return fn(client)
}

// clientOf returns a client of the server that flags and c name, and its address.
func clientOf(a *cli.App, c *config.Config) (client *api.Client, server string, err error) {
	x, err := node.NewAccess(c)
	if err != nil {
		return nil, "", NodeFailure(err)
	}
	if server, err = a.ServerAddr(c); err != nil {
		return nil, "", err
	}
	return x.Client(server), server, nil
}

// PrintAnswer sends a request with ask and prints the answer in the format of -o: as the JSON of
// doc, or as the text of table.
func PrintAnswer[R any](a *cli.App, ask func(*api.Client) (R, error), doc func(R) ([]byte, error), table func(R) string) error {
	if err := a.NoCSV(); err != nil {
		return err
	}
	res, err := answer(a, ask)
	if err != nil {
		return err
	}
	return Print(a, res, doc, table)
}

// Print prints an answer as PrintAnswer does.
func Print[R any](a *cli.App, res R, doc func(R) ([]byte, error), table func(R) string) error {
	return a.Print(func(w io.Writer) error {
		if !a.Structured() {
			_, err := fmt.Fprintln(w, strings.TrimRight(table(res), "\n"))
			return err
		}
		b, err := doc(res)
		if err != nil {
			return err
		}
		if a.Format != cli.FormatYAML {
			_, err = fmt.Fprintf(w, "%s\n", strings.TrimSpace(string(b)))
			return err
		}
		return cli.WriteYAML(w, b)
	})
}

// answer sends a request with ask.
func answer[R any](a *cli.App, ask func(*api.Client) (R, error)) (res R, err error) {
	client, err := APIClient(a)
	if err != nil {
		return res, err
	}
	defer client.Close()
	return ask(client)
}

// List formats an answer R that has rows.
type List[R, Row any] struct {
	Doc   func(R) ([]byte, error) // one JSON document
	Table func(R) string
	Rows  func(R) []Row // for -o csv and -o jsonl
}

// PrintList is PrintAnswer for an answer that has rows.
func PrintList[R, Row any](a *cli.App, ask func(*api.Client) (R, error), l List[R, Row]) error {
	if a.Format != cli.FormatCSV && a.Format != cli.FormatJSONL {
		return PrintAnswer(a, ask, l.Doc, l.Table)
	}
	res, err := answer(a, ask)
	if err != nil {
		return err
	}
	return cli.PrintRows(a, l.Rows(res))
}
