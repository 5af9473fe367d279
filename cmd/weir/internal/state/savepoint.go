package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
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
	for _, p := range s.Partitions {
		for _, sum := range p.Tables {
			r.Keys, r.Bytes = r.Keys+sum.Keys, r.Bytes+sum.Bytes
		}
	}
	return r
}

func newSavepointCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "savepoint",
		Short: "Create, list, restore and drop savepoints",
		Long: "A savepoint is a named copy of the state of one process, in its data_dir. Each partition is\n" +
			"copied at a committed transaction. A replay can begin at a savepoint (`weir replay`), and a\n" +
			"savepoint can replace the state of a stopped process (`weir savepoint restore`).",
	}
	c.AddCommand(newSavepointCreateCmd(a), newSavepointListCmd(a), newSavepointRestoreCmd(a), newSavepointDropCmd(a))
	for _, sub := range c.Commands() {
		sub.Flags().String("data-dir", "", "directory of the state (default: data_dir)")
		a.Bind(sub.Flags(), "data-dir", "data_dir")
	}
	return c
}

func newSavepointCreateCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "create NAME",
		Short: "Create a savepoint of data_dir; if a process runs there (--server), that process creates it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := savepoints(a)
			if err != nil {
				return err
			}
			sp, err := createSavepoint(cmd.Context(), a, s, args[0])
			if err != nil {
				return err
			}
			return showSavepoint(a, sp)
		},
	}
}

func newSavepointListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the savepoints, oldest first",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := savepoints(a)
			if err != nil {
				return err
			}
			list, err := s.List()
			if err != nil {
				return savepointFailure("cannot list the savepoints", err)
			}
			var rows []savepointRow
			for i := range list {
				rows = append(rows, rowOfSavepoint(&list[i]))
			}
			return cli.PrintRows(a, rows)
		},
	}
}

func newSavepointRestoreCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "restore NAME",
		Short: "Replace the state of a stopped process by a savepoint; the next start reads the rest from the changelog",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := savepoints(a)
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
}

func newSavepointDropCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "drop NAME",
		Short: "Drop a savepoint",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := savepoints(a)
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
}

// showSavepoint prints a savepoint; structured formats have its partitions, too.
func showSavepoint(a *cli.App, sp *offline.Savepoint) error {
	r := rowOfSavepoint(sp)
	if a.Structured() {
		r.Detail = sp.Partitions
	}
	return cli.PrintOne(a, r)
}

// savepoints returns the savepoints of the spend counter in data_dir. It needs no broker.
func savepoints(a *cli.App) (*offline.Savepoints, error) {
	cfg, err := a.LoadConfig()
	if err != nil {
		return nil, err
	}
	proc, err := node.OfflineSpendCounter(cfg).Processor()
	if err != nil {
		return nil, cli.Fail(cli.ExitConfig, "cannot set up the spend counter", err, "correct dc and peers")
	}
	s, err := offline.NewSavepoints(node.OfflineConfig(cfg, kafka.Cluster{}), proc)
	if err != nil {
		return nil, cli.Fail(cli.ExitConfig, "cannot set up the processor", err, "correct the configuration; `weir config print` shows it")
	}
	return s, nil
}

// createSavepoint creates a savepoint of data_dir. If a process holds data_dir, the process creates
// it.
func createSavepoint(ctx context.Context, a *cli.App, s *offline.Savepoints, name string) (*offline.Savepoint, error) {
	sp, err := s.Create(ctx, name)
	if !errors.Is(err, processors.ErrLocked) {
		return sp, savepointFailure("cannot create the savepoint", err)
	}
	client, err := connect.APIClient(a)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if _, err := client.CreateSavepoint(ctx, name); err != nil {
		return nil, err
	}
	if sp, err = s.Get(name); err != nil {
		return nil, cli.Fail(cli.ExitFailed, "the savepoint is in another data_dir",
			fmt.Errorf("the process at %s created it: %w", client.Server(), err), "give --server the process that holds this data_dir")
	}
	return sp, nil
}

func savepointFailure(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, processors.ErrLocked):
		return cli.Fail(cli.ExitLocked, what, err, "stop the process; committed state is kept")
	case errors.Is(err, offline.ErrSavepoint):
		return cli.Fail(cli.ExitFailed, what, err, "`weir savepoint list` shows the savepoints")
	}
	return cli.Fail(0, what, err, "")
}
