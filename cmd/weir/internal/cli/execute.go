package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/internal/config"
)

// SetUp gives the root command the streams and arguments of the process, and the global flags.
func (a *App) SetUp(root *cobra.Command) {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.DisableSuggestions = true // group makes suggestions
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetArgs(a.Args)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	a.addGlobalFlags(root.PersistentFlags())
}

func (a *App) addGlobalFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&a.ConfigFile, "config", "f", "", "configuration file (default: "+config.EnvFile+")")
	flags.VarP(&a.Format, "output", "o", "output format: "+outputFormats())
	flags.StringVar(&a.server, "server", "",
		"address of a weir process to ask, host:port or URL (default: "+config.EnvServer+", then api.listen)")
	flags.StringSlice("brokers", nil, "Kafka brokers, host:port,... (default: kafka.brokers, then the brokers of --server)")
	flags.String("log-level", "", "minimum log level: trace, debug, info, warn or error (default: log.level)")
	flags.String("ca-file", "", "PEM file of the certificate authorities that signed the certificate of --server (default: api.ca_file)")
	flags.String("token-file", "", "file with the token that --server requires (default: api.token_file)")
	a.Bind(flags, "brokers", "kafka.brokers")
	a.Bind(flags, "log-level", "log.level")
	a.Bind(flags, "ca-file", "api.ca_file")
	a.Bind(flags, "token-file", "api.token_file")
	Enum(flags, "output", formatNames()...)
	Enum(flags, "log-level", "trace", "debug", "info", "warn", "error")
}

// Execute runs root, prints its error, and returns the exit code. A panic is exit code 70.
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
		err = UsageError(err.Error(), "`"+ran.CommandPath()+" --help` describes the command")
	}
	if connect.CodeOf(err) == connect.CodeNotFound && ran.Flags().Lookup("wait") != nil && !ran.Flags().Changed("wait") {
		f := Explain(err)
		f.Do += "; with --wait the command waits until the events of this moment are counted"
		err = f
	}
	return a.report(err)
}

// prepare walks the command tree. It sets running when a command's code begins. A command that only
// groups others prints its help, or suggests the most similar sub-command.
func (a *App) prepare(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if err := a.checkServer(cmd); err != nil {
				return err
			}
			a.running = true
			return run(cmd, args)
		}
	} else if c.Run == nil && c.HasSubCommands() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = group
	}
	checkArgs(c)
	c.PreRunE = checkFlags
	plainTypes(c.Flags())
	a.addCompletion(c)
	for _, sub := range c.Commands() {
		a.prepare(sub)
	}
}

// group is RunE of a command that only groups others.
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
	if len(known) <= 10 {
		do = fmt.Sprintf("the commands of `%s` are: %s", c.CommandPath(), strings.Join(known, ", "))
	}
	if n, ok := config.Nearest(args[0], known); ok {
		do = fmt.Sprintf("did you mean `%s %s`?", c.CommandPath(), n)
	}
	return UsageError(fmt.Sprintf("`%s` has no command %q", c.CommandPath(), args[0]), do)
}
