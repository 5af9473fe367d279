package lease

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/lease/admin"
)

// settingsCommand describes the commands for one kind of settings: regions, clients or pools.
type settingsCommand[T any] struct {
	a     *cli.App
	noun  string
	value T
	name  func(*T) *string
	// parents adds the flags that name the owner, such as --client of a pool. fields adds a flag
	// for each setting; the default of the flag is the present value.
	parents, fields func(*pflag.FlagSet, *T)
	// note returns a note about settings that are possible and rarely meant, "" for none. It may be
	// nil.
	note func(*T) string
	// look returns all settings and the region that answered. Defaults to admin.ListAny.
	look func(context.Context, *node.LeaseTable) ([]T, string, error)
}

// noteFallbackRegion prints a note if a region other than the home answered.
func noteFallbackRegion(a *cli.App, l *node.LeaseTable, at string) {
	if home := l.Config.HomeRegion(); at != home {
		a.Notef("the home region %s does not answer: this is the copy of %s", home, at)
	}
}

// answeringRegion returns the home region, or another region that answers if the home does not.
func answeringRegion(ctx context.Context, a *cli.App, l *node.LeaseTable) (string, error) {
	_, at, err := admin.ListAny(ctx, l.Admin, admin.Region{})
	noteFallbackRegion(a, l, at)
	return at, err
}

// newSettingsCmd returns `weir noun create|get|list|update|delete|import`.
func newSettingsCmd[T any, P admin.Entity[T]](s *settingsCommand[T], short string) *cobra.Command {
	c := &cobra.Command{Use: s.noun, Short: short}
	create := newSettingCmd(s, "create NAME", "Create a "+s.noun, func(ctx context.Context, l *node.LeaseTable, _ *cobra.Command) error {
		made, err := admin.Create[T, P](ctx, l.Admin, s.value)
		if err != nil {
			return connect.LeaseFailure("cannot create the "+s.noun, err)
		}
		return s.printWhole(&made)
	})
	s.fields(create.Flags(), &s.value)
	get := newSettingCmd(s, "get NAME", "Show a "+s.noun, func(ctx context.Context, l *node.LeaseTable, _ *cobra.Command) error {
		found, at, err := admin.GetAny[T, P](ctx, l.Admin, s.value)
		if err != nil {
			return connect.LeaseFailure("cannot show the "+s.noun, err)
		}
		noteFallbackRegion(s.a, l, at)
		return cli.PrintOne(s.a, found)
	})
	list := newSettingCmd(s, "list", "List all "+s.noun+"s", func(ctx context.Context, l *node.LeaseTable, _ *cobra.Command) error {
		look := s.look
		if look == nil {
			look = func(ctx context.Context, l *node.LeaseTable) ([]T, string, error) {
				return admin.ListAny[T, P](ctx, l.Admin, s.value)
			}
		}
		all, at, err := look(ctx, l)
		if err != nil {
			return connect.LeaseFailure("cannot list the "+s.noun+"s", err)
		}
		noteFallbackRegion(s.a, l, at)
		return cli.PrintRows(s.a, all)
	})
	update := newSettingCmd(s, "update NAME", "Change the given settings of a "+s.noun,
		func(ctx context.Context, l *node.LeaseTable, cmd *cobra.Command) error {
			found, err := admin.Get[T, P](ctx, l.Admin, s.value)
			if err != nil {
				return connect.LeaseFailure("cannot change the "+s.noun, err)
			}
			if err := s.overlay(cmd, &found); err != nil {
				return err
			}
			if found, err = admin.Update[T, P](ctx, l.Admin, found); err != nil {
				return connect.LeaseFailure("cannot change the "+s.noun, err)
			}
			return s.printWhole(&found)
		})
	s.fields(update.Flags(), new(T))
	withoutDefaults(update.Flags())
	var dry bool
	remove := newSettingCmd(s, "delete NAME", "Delete a "+s.noun+" that is not in use",
		func(ctx context.Context, l *node.LeaseTable, _ *cobra.Command) error {
			if err := admin.Delete[T, P](ctx, l.Admin, s.value, dry); err != nil {
				return connect.LeaseFailure("cannot delete the "+s.noun, err)
			}
			s.a.Notef("%s %s", P(&s.value), dryRunText(dry, "deleted"))
			return nil
		})
	dryRun(remove.Flags(), &dry)
	c.AddCommand(create, get, list, update, remove, newSettingsImportCmd[T, P](s))
	return c
}

// printWhole prints settings that were written with all their fields, also those of -o wide.
func (s *settingsCommand[T]) printWhole(v *T) error {
	if s.note != nil {
		if text := s.note(v); text != "" {
			s.a.Notef("%s", text)
		}
	}
	if !s.a.Structured() {
		s.a.Format = cli.FormatWide
	}
	return cli.PrintOne(s.a, *v)
}

// withoutDefaults removes the defaults from the usages of f: an update changes given settings only.
// Usages of f whose default is a setting of the configuration have "(default: " and keep it.
func withoutDefaults(f *pflag.FlagSet) {
	f.VisitAll(func(f *pflag.Flag) {
		f.Usage, _, _ = strings.Cut(f.Usage, " (default ")
	})
}

// newSettingCmd returns a sub-command that connects to the table and calls do. If use has NAME, the
// argument is the name.
func newSettingCmd[T any](s *settingsCommand[T], use, short string,
	do func(context.Context, *node.LeaseTable, *cobra.Command) error,
) *cobra.Command {
	n := strings.Count(use, " NAME")
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(n),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n > 0 {
				*s.name(&s.value) = args[0]
			}
			l, err := connect.LeaseTable(cmd.Context(), s.a)
			if err != nil {
				return err
			}
			return do(cmd.Context(), l, cmd)
		},
	}
	s.parents(c.Flags(), &s.value)
	connect.LeaseFlags(s.a, c.Flags())
	return c
}

// overlay sets in v what the given flags set.
func (s *settingsCommand[T]) overlay(cmd *cobra.Command, v *T) error {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.fields(f, v)
	var err error
	cmd.Flags().Visit(func(given *pflag.Flag) {
		if f.Lookup(given.Name) != nil && err == nil {
			err = f.Set(given.Name, given.Value.String())
		}
	})
	return err
}

func newSettingsImportCmd[T any, P admin.Entity[T]](s *settingsCommand[T]) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Create or change the " + s.noun + "s in a file; - reads standard input",
		Long: "Create or change the " + s.noun + "s in a file, which has the output of `list -o json` or `list -o jsonl`.\n" +
			"The name - is standard input. An interrupted import can be run again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := readSettings[T](s.a, args[0])
			if err != nil {
				return err
			}
			l, err := connect.LeaseTable(cmd.Context(), s.a)
			if err != nil {
				return err
			}
			for i := range all {
				what, err := admin.Import[T, P](cmd.Context(), l.Admin, all[i], dry)
				if err != nil {
					return connect.LeaseFailure(fmt.Sprintf("the import stopped at entry %d of %d", i+1, len(all)), err)
				}
				s.a.Notef("%s %s", P(&all[i]), dryRunText(dry, string(what)))
			}
			return nil
		},
	}
	dryRun(c.Flags(), &dry)
	connect.LeaseFlags(s.a, c.Flags())
	return c
}

// readSettings reads a JSON array, or one JSON value after the other.
func readSettings[T any](a *cli.App, name string) ([]T, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(a.Stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, cli.Fail(0, "cannot open the input", err, "check the path; - reads standard input")
	}
	var all []T
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if text = bytes.TrimLeft(text, " \t\r\n"); bytes.HasPrefix(text, []byte("[")) {
		err = d.Decode(&all)
	} else {
		for err == nil {
			var one T
			if err = d.Decode(&one); err == nil {
				all = append(all, one)
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, cli.Fail(cli.ExitData, fmt.Sprintf("cannot read %s at entry %d", name, len(all)+1), err,
			"use the format of `list -o jsonl`")
	}
	return all, nil
}

func dryRun(f *pflag.FlagSet, dry *bool) {
	f.BoolVar(dry, "dry-run", false, "print the changes without making them")
}

// dryRunText describes what was done, or what a dry run left undone.
func dryRunText(dry bool, what string) string {
	if dry {
		return "would be " + what + " (dry run)"
	}
	return what
}
