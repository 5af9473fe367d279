package ops

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
)

// newConfigCmd returns `weir config`.
func newConfigCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Print and check the configuration",
		Long: "Print and check the configuration. Settings come from defaults, a YAML file (-f), the environment\n" +
			"(WEIR_...) and flags. A later source overrides an earlier one. An unknown key is an error.",
	}
	cli.RefuseServer(c, "the configuration is that of this command line, this environment and -f")
	c.AddCommand(newConfigPrintCmd(a), newConfigCheckCmd(a), newConfigMemoryCmd(a))
	return c
}

// setting is a row of `weir config print`.
type setting struct {
	Key     string        `json:"key"`
	Value   string        `json:"value"`
	Origin  config.Origin `json:"origin"`
	Where   string        `json:"where"`
	Default string        `json:"default" table:"wide"`
	Env     string        `json:"env" table:"wide"`
	Unit    string        `json:"unit" table:"wide"`
	Range   string        `json:"range" table:"wide"`
	Doc     string        `json:"doc" table:"wide"`
}

func newConfigPrintCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "print",
		Short: "Print every setting with its value and source",
		Long: "Print every setting with its value and source. Secrets are redacted. -o wide adds default, range,\n" +
			"environment variable and description. -o yaml prints a file that weir can load.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.LoadConfig()
			if err != nil {
				return err
			}
			if a.Format == cli.FormatYAML {
				return a.Print(c.Print)
			}
			var rows []setting
			for _, e := range c.Entries() {
				rows = append(rows, setting(e))
			}
			return cli.PrintRows(a, rows)
		},
	}
}

// checked is the output of `weir config check`.
type checked struct {
	Valid      bool     `json:"valid"`
	NotDefault int      `json:"settings_not_default"` // from the file, the environment or a flag
	Default    int      `json:"settings_default"`
	Warnings   []string `json:"warnings"`
}

func newConfigCheckCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration; the exit code is 78 if it is not valid",
		Long: "Check the configuration and the files that it names: certificates, keys, token and password. The\n" +
			"exit code is 78 if `weir run` would refuse them. Warnings do not change the exit code.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.LoadConfig()
			if err != nil {
				return err
			}
			answer := checked{Valid: true, Warnings: []string{}}
			for _, e := range c.Entries() {
				if e.Origin == config.OriginDefault {
					answer.Default++
				} else {
					answer.NotDefault++
				}
			}
			if problems := node.CheckFiles(c); len(problems) > 0 {
				return &config.Error{Problems: problems}
			}
			for _, w := range c.Warnings() {
				answer.Warnings = append(answer.Warnings, w.String())
				a.Notef("warning: %s", w)
			}
			return cli.PrintOne(a, answer)
		},
	}
}
