package connect

import (
	"fmt"
	"io"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"

	"go.yaml.in/yaml/v3"
)

// APIClient returns a client of the server that flags and configuration name.
func APIClient(a *cli.App) (*api.Client, error) {
	c, err := a.LoadConfig()
	if err != nil {
		return nil, err
	}
	x, err := node.NewAccess(c)
	if err != nil {
		return nil, NodeFailure(err)
	}
	server, err := a.ServerAddr(c)
	if err != nil {
		return nil, err
	}
	return x.Client(server), nil
}

// PrintAnswer sends a request with ask and prints the answer in the format of -o: as the JSON of
// doc, or as the text of table.
func PrintAnswer[R any](a *cli.App, ask func(*api.Client) (R, error), doc func(R) ([]byte, error), table func(R) string) error {
	client, err := APIClient(a)
	if err != nil {
		return err
	}
	defer client.Close()
	res, err := ask(client)
	if err != nil {
		return err
	}
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
		var node yaml.Node
		if err := yaml.Unmarshal(b, &node); err != nil {
			return err
		}
		cli.BlockStyle(&node)
		return yaml.NewEncoder(w).Encode(&node)
	})
}
