package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/offline"
)

// savepointRow is a row of `weir savepoint list`.
type savepointRow struct {
	Name       string `json:"name"`
	App        string `json:"app"`
	Created    string `json:"created"`
	Partitions int    `json:"partitions"`
	Keys       int64  `json:"keys"`
	Bytes      int64  `json:"bytes"`
	Detail     any    `json:"detail,omitempty" table:"-"`
}

func rowOfSavepoint(s *offline.Savepoint) savepointRow {
	r := savepointRow{Name: s.Name, App: s.App, Created: s.Created.Format(time.RFC3339), Partitions: len(s.Partitions)}
	r.Keys, r.Bytes = s.Size()
	return r
}

func newSavepointCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "savepoint",
		Short: "Create, list, restore and drop savepoints",
		Long: "A savepoint is a named copy of the state that one process has of an application, in its data_dir:\n" +
			"of the spend counter, or of another application with --app. Each partition is copied at a\n" +
			"committed transaction. A replay can begin at a savepoint (`weir replay`), and a savepoint can\n" +
			"replace the state of a stopped process (`weir savepoint restore`).\n\n" +
			"A savepoint is not a backup: it shares its files with the live state, so that a damaged file damages\n" +
			"both. The backup of the state is its changelog in Kafka: give it three replicas. For a copy outside\n" +
			"of Kafka, create a savepoint and copy its directory data_dir/APP/savepoints/NAME to another disk.",
	}
	local := []*cobra.Command{newSavepointListCmd(a), newSavepointRestoreCmd(a), newSavepointDropCmd(a)}
	for _, sub := range local {
		cli.RefuseServer(sub, "it works in data_dir of this machine: run it where the process runs")
	}
	c.AddCommand(newSavepointCreateCmd(a))
	c.AddCommand(local...)
	for _, sub := range c.Commands() {
		sub.Flags().String("data-dir", "", "directory of the state (default: data_dir)")
		a.Bind(sub.Flags(), "data-dir", "data_dir")
	}
	return c
}

func newSavepointCreateCmd(a *cli.App) *cobra.Command {
	var app string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a savepoint of data_dir; if a process runs there (--server), that process creates it",
		Long: "Create a savepoint. With --server or WEIR_SERVER that process creates it, in its data_dir. Without,\n" +
			"the savepoint is of data_dir; if a process runs there, it is asked at api.listen.",
		Example: "  weir savepoint create monday\n  weir savepoint create monday --app lease-balancer --server weir-1.example:8080",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.NamesServer() {
				return createSavepointAt(cmd.Context(), a, app, args[0])
			}
			s, found, err := savepoints(a, app)
			if err != nil {
				return err
			}
			sp, err := createSavepoint(cmd.Context(), a, s, &weirpb.CreateSavepointRequest{App: found.Name, Name: args[0]})
			if err != nil {
				return err
			}
			return showSavepoint(a, sp)
		},
	}
	connect.AppFlag(c.Flags(), &app)
	return c
}

func newSavepointListCmd(a *cli.App) *cobra.Command {
	var names []string
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the savepoints of data_dir by application, oldest first",
		Example: "  weir savepoint list\n  weir savepoint list --app lease-balancer",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.LoadConfig()
			if err != nil {
				return err
			}
			apps, err := connect.NamedApps(cfg, names)
			if err != nil {
				return err
			}
			var rows []savepointRow
			for _, app := range apps {
				if app.Processor == nil && len(names) == 0 {
					continue // it has no state
				}
				s, err := savepointsOf(cfg, app)
				if err != nil {
					return err
				}
				list, err := s.List()
				if err != nil {
					return savepointFailure("cannot list the savepoints", err)
				}
				for i := range list {
					rows = append(rows, rowOfSavepoint(&list[i]))
				}
			}
			return cli.PrintRows(a, rows)
		},
	}
	c.Flags().StringSliceVar(&names, "app", nil, "applications, such as spendcounter,lease-balancer (default: all)")
	return c
}

func newSavepointRestoreCmd(a *cli.App) *cobra.Command {
	var app string
	c := &cobra.Command{
		Use:   "restore NAME",
		Short: "Replace the state of a stopped process by a savepoint; the next start reads the rest from the changelog",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, _, err := savepoints(a, app)
			if err != nil {
				return err
			}
			sp, err := s.Restore(args[0])
			if err != nil {
				return savepointFailure("cannot restore the savepoint", err)
			}
			a.Notef("the former state is in db.replaced, beside the new state: remove it when you do not need it")
			return showSavepoint(a, sp)
		},
	}
	connect.AppFlag(c.Flags(), &app)
	return c
}

func newSavepointDropCmd(a *cli.App) *cobra.Command {
	var app string
	c := &cobra.Command{
		Use:   "drop NAME",
		Short: "Drop a savepoint",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, _, err := savepoints(a, app)
			if err != nil {
				return err
			}
			if err := s.Drop(args[0]); err != nil {
				return savepointFailure("cannot drop the savepoint", err)
			}
			a.Notef("savepoint %s is removed", args[0])
			return nil
		},
	}
	connect.AppFlag(c.Flags(), &app)
	return c
}

// showSavepoint prints a savepoint; structured formats have its partitions, too.
func showSavepoint(a *cli.App, sp *offline.Savepoint) error {
	r := rowOfSavepoint(sp)
	if a.Structured() {
		r.Detail = sp.Partitions
	}
	return cli.PrintOne(a, r)
}

// savepoints returns the savepoints of an application in data_dir, "" for the spend counter, and
// the application. It needs no broker.
func savepoints(a *cli.App, name string) (*offline.Savepoints, node.App, error) {
	cfg, err := a.LoadConfig()
	if err != nil {
		return nil, node.App{}, err
	}
	app, err := connect.App(cfg, "--app", name)
	if err != nil {
		return nil, app, err
	}
	s, err := savepointsOf(cfg, app)
	return s, app, err
}

// savepointsOf returns the savepoints of an application.
func savepointsOf(cfg *config.Config, app node.App) (*offline.Savepoints, error) {
	if app.Processor == nil {
		return nil, cli.UsageError("--app "+app.Name+": an executor has no state", "`weir status` shows its waiting commands")
	}
	s, err := offline.NewSavepoints(node.OfflineConfig(cfg, kafka.Cluster{}), *app.Processor)
	if err != nil {
		return nil, cli.Fail(cli.ExitConfig, "cannot set up the processor", err, "correct the configuration; `weir config print` shows it")
	}
	return s, nil
}

// createSavepoint creates a savepoint of data_dir. If a process holds data_dir, the process creates
// it.
func createSavepoint(ctx context.Context, a *cli.App, s *offline.Savepoints,
	req *weirpb.CreateSavepointRequest,
) (*offline.Savepoint, error) {
	sp, err := s.Create(ctx, req.GetName())
	if !errors.Is(err, processors.ErrLocked) {
		return sp, savepointFailure("cannot create the savepoint", err)
	}
	client, err := connect.APIClient(a)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if _, err := client.CreateSavepoint(ctx, req); err != nil {
		return nil, connect.ServerAppFailure(a, req.GetApp(), err)
	}
	if sp, err = s.Get(req.GetName()); err != nil {
		return nil, cli.Fail(cli.ExitFailed, "the savepoint is in another data_dir",
			fmt.Errorf("the process at %s created it: %w", client.Server(), err), "give --server the process that holds this data_dir")
	}
	return sp, nil
}

// createSavepointAt makes the named server create a savepoint of an application, "" for its
// default.
func createSavepointAt(ctx context.Context, a *cli.App, app, name string) error {
	client, err := connect.APIClient(a)
	if err != nil {
		return err
	}
	defer client.Close()
	res, err := client.CreateSavepoint(ctx, &weirpb.CreateSavepointRequest{App: app, Name: name})
	if err != nil {
		return connect.ServerAppFailure(a, app, err)
	}
	a.Notef("the savepoint is in the data_dir of the process at %s", client.Server())
	return cli.PrintOne(a, savepointRow{
		Name: res.GetName(), App: res.GetApp(), Created: time.UnixMilli(res.GetCreatedMs()).UTC().Format(time.RFC3339),
		Partitions: int(res.GetPartitions()), Keys: res.GetKeys(), Bytes: res.GetBytes(),
	})
}

func savepointFailure(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, processors.ErrLocked):
		return cli.Fail(cli.ExitLocked, what, err, "stop the process; committed state is kept")
	case errors.Is(err, offline.ErrSavepoint):
		return cli.Fail(cli.ExitFailed, what, err,
			"`weir savepoint list` shows the savepoints of data_dir; check --data-dir and --app, or name the running process in --server")
	}
	return cli.Fail(0, what, err, "")
}
