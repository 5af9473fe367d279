package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/internal/config"
)

// SetUp gives the root command the streams, the arguments and the global flags of the process.
func (a *App) SetUp(root *cobra.Command) {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.DisableSuggestions = true // group suggests over all names
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetArgs(a.Args)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	a.addGlobalFlags(root.PersistentFlags())
}

func (a *App) addGlobalFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&a.ConfigFile, "config", "f", "", "configuration file (default: what "+config.EnvFile+" names)")
	flags.VarP(&a.Format, "output", "o", "format of what is printed: "+outputFormats())
	flags.StringVar(&a.server, "server", "", "server to ask, host:port or URL (default: "+config.EnvServer+", then api.listen)")
	flags.StringSlice("brokers", nil, "Kafka brokers, host:port,... (default: kafka.brokers)")
	flags.String("log-level", "", "trace, debug, info, warn or error (default: log.level)")
	a.Bind(flags, "brokers", "kafka.brokers")
	a.Bind(flags, "log-level", "log.level")
}

// Execute runs root, prints its error if it has one, and returns the exit code. A panic becomes exit code 70.
func (a *App) Execute(ctx context.Context, root *cobra.Command) (code int) {
	defer func() {
		if p := recover(); p != nil {
			a.Notef("%s", debug.Stack())
			code = a.report(&Failure{
				Code: ExitSoftware, What: "weir has a bug", Why: fmt.Sprint("panic: ", p),
				Do: "report it with the lines above and the output of `weir version`",
			})
		}
	}()
	a.prepare(root)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	var f *Failure
	if !a.running && !errors.As(err, &f) {
		err = UsageError(err.Error(), "`"+ran.CommandPath()+" --help` shows how it is used")
	}
	return a.report(err)
}

// prepare walks the tree: it marks where a command's own code begins, and makes a command that only groups others
// print its help, or name the nearest of them.
func (a *App) prepare(c *cobra.Command) {
	if own := c.RunE; own != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			a.running = true
			return own(cmd, args)
		}
	} else if c.Run == nil && c.HasSubCommands() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = group
	}
	for _, sub := range c.Commands() {
		a.prepare(sub)
	}
}

// group is what a command without code of its own does.
func group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(append(known, sub.Name()), sub.Aliases...)
		}
	}
	do := fmt.Sprintf("`%s --help` lists the commands", c.CommandPath())
	if n, ok := config.Nearest(args[0], known); ok {
		do = fmt.Sprintf("did you mean `%s %s`?", c.CommandPath(), n)
	}
	return UsageError(fmt.Sprintf("`%s` has no command %q", c.CommandPath(), args[0]), do)
}

// flagError explains a flag that does not exist or does not parse.
func flagError(c *cobra.Command, err error) error {
	do := fmt.Sprintf("`%s --help` lists the flags", c.CommandPath())
	var missing *pflag.NotExistError
	if errors.As(err, &missing) && missing.GetSpecifiedShortnames() == "" {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, f.Name)
			}
		})
		if n, ok := config.Nearest(missing.GetSpecifiedName(), known); ok {
			do = fmt.Sprintf("did you mean --%s?", n)
		}
	}
	return UsageError(err.Error(), do)
}
