package state

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

// Commands returns the commands about the state of applications.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newStateCmd(a), newSavepointCmd(a), newReplayCmd(a), newRepartitionCmd(a), newDLQCmd(a)}
}

func newStateCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Show the state of an application: keys, values and hashes",
		Long: "Show the state of an application at committed offsets: of the spend counter, or of another one with\n" +
			"--app. Any process that runs the application answers: it forwards the request to the owner of each\n" +
			"partition. It also answers for programs of your own that serve this API. A key is text in which\n" +
			"\\xNN stands for a byte, or hexadecimal with --hex. Tables without a name are given by number.",
	}
	c.AddCommand(newStateGetCmd(a), newStateScanCmd(a), newStateHashCmd(a))
	return c
}

// stateFlags are the flags that the sub-commands share.
type stateFlags struct {
	app       string
	partition int32
	stale     time.Duration
	hex       bool
}

func (f *stateFlags) add(c *cobra.Command, partition string) {
	c.Flags().StringVar(&f.app, "app", "",
		"application that the server runs, such as lease-balancer (default: the spend counter, or the only one)")
	c.Flags().Int32Var(&f.partition, "partition", 0, partition)
	c.Flags().DurationVar(&f.stale, "max-staleness", 0, connect.MaxStalenessHelp)
}

// given returns the value of --partition, nil if the flag was not given.
func (f *stateFlags) given(c *cobra.Command) *int32 {
	if !c.Flags().Changed("partition") {
		return nil
	}
	return &f.partition
}

// key parses a key: hexadecimal with --hex, else text with \xNN for bytes.
func (f *stateFlags) key(text string) ([]byte, error) {
	read, do := render.ParseKey, "write \\xNN for a byte, or give the key in hexadecimal with --hex"
	if f.hex {
		read, do = hex.DecodeString, "write an even number of 0-9 and a-f; without --hex the key is text"
	}
	b, err := read(text)
	if err != nil {
		return nil, cli.UsageError(err.Error(), do)
	}
	return b, nil
}

func newStateGetCmd(a *cli.App) *cobra.Command {
	f, req := &stateFlags{}, &weirpb.GetStateRequest{}
	c := &cobra.Command{
		Use:     "get --table NAME KEY",
		Short:   "Show the value of one key",
		Example: "  weir state get --table health local/7 --partition 7",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if req.Key, err = f.key(args[0]); err != nil {
				return err
			}
			if req.MaxStalenessMs, err = connect.StalenessMs(f.stale); err != nil {
				return err
			}
			req.App, req.Partition = f.app, f.given(cmd)
			ask := func(c *api.Client) (*weirpb.GetStateResponse, error) { return c.GetState(cmd.Context(), req) }
			return connect.ServerAppFailure(a, f.app, connect.PrintAnswer(a, ask, render.StateJSON, render.StateTable))
		},
	}
	f.add(c, "partition of the key (default: computed from the key, for tables that allow it)")
	c.Flags().StringVar(&req.Table, "table", "", "name or number of the table")
	c.Flags().BoolVar(&f.hex, "hex", false, "key in hexadecimal instead of text")
	cli.Must(c.MarkFlagRequired("table"))
	return c
}

func newStateScanCmd(a *cli.App) *cobra.Command {
	f, req := &stateFlags{}, &weirpb.ScanStateRequest{}
	var prefix, start, end string
	var limit int
	c := &cobra.Command{
		Use:   "scan --table NAME",
		Short: "Show the entries of a table, of a prefix or of a range of keys",
		Example: "  weir state scan --table spend --prefix 'acme\\x00' --limit 20\n" +
			"  weir state scan --app lease-balancer --table pool_regions\n" +
			"  weir state scan --app wordcount --table counts --server 127.0.0.1:8090",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return cli.UsageError(fmt.Sprintf("--limit %d is not a positive number", limit), "use 1 or more")
			}
			if prefix != "" && (start != "" || end != "") {
				return cli.UsageError("--prefix cannot be combined with --start and --end",
					"give --prefix, or a range with --start and --end")
			}
			for _, k := range []struct {
				text string
				to   *[]byte
			}{{prefix, &req.Prefix}, {start, &req.Start}, {end, &req.End}} {
				var err error
				if *k.to, err = f.key(k.text); err != nil {
					return err
				}
			}
			var err error
			if req.MaxStalenessMs, err = connect.StalenessMs(f.stale); err != nil {
				return err
			}
			req.App, req.Partition = f.app, f.given(cmd)
			return connect.ServerAppFailure(a, f.app, scanState(a, cmd, req, limit))
		},
	}
	f.add(c, "only this partition (default: all)")
	c.Flags().StringVar(&req.Table, "table", "", "name or number of the table")
	c.Flags().StringVar(&prefix, "prefix", "", "prefix of the keys")
	c.Flags().StringVar(&start, "start", "", "first key of the range")
	c.Flags().StringVar(&end, "end", "", "first key after the range")
	c.Flags().BoolVar(&f.hex, "hex", false, "keys in hexadecimal instead of text")
	c.Flags().IntVar(&limit, "limit", 100, "maximum number of entries")
	c.Flags().StringVar(&req.PageToken, "page", "", "token of the previous page, to continue after it")
	cli.Must(c.MarkFlagRequired("table"))
	return c
}

// scanState prints limit entries, and the token of the next page.
func scanState(a *cli.App, cmd *cobra.Command, req *weirpb.ScanStateRequest, limit int) error {
	all := &weirpb.ScanStateResponse{}
	pages := connect.Pages[*weirpb.ScanStateResponse]{Noun: "entries", All: all, Limit: limit, Most: api.MaxPageKeys}
	pages.Next = func(c *api.Client, page int32) (int, string, error) {
		req.Limit = page
		res, err := c.ScanState(cmd.Context(), req)
		if err != nil {
			return 0, "", err
		}
		all.Entries, all.AsOf = append(all.Entries, res.Entries...), append(all.AsOf, res.AsOf...)
		all.NextPageToken, req.PageToken = res.NextPageToken, res.NextPageToken
		return len(res.Entries), res.NextPageToken, nil
	}
	doc := render.ScanJSON
	if a.Format == cli.FormatJSONL {
		doc = render.ScanLines
	}
	return connect.PrintPages(a, pages, func(ask func(*api.Client) (*weirpb.ScanStateResponse, error)) error {
		return connect.PrintAnswer(a, ask, doc, render.ScanTable)
	})
}

func newStateHashCmd(a *cli.App) *cobra.Command {
	f := &stateFlags{}
	c := &cobra.Command{
		Use:     "hash",
		Short:   "Show hashes of the tables of partitions: equal hashes mean equal state",
		Example: "  weir state hash --app lease-liberator",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stale, err := connect.StalenessMs(f.stale)
			if err != nil {
				return err
			}
			ask := func(c *api.Client) (*weirpb.HashStateResponse, error) {
				return c.HashState(cmd.Context(),
					&weirpb.HashStateRequest{App: f.app, Partition: f.given(cmd), MaxStalenessMs: stale})
			}
			return connect.ServerAppFailure(a, f.app, connect.PrintAnswer(a, ask, render.HashJSON, render.HashTable))
		},
	}
	f.add(c, "only this partition (default: all)")
	return c
}
