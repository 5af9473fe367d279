package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// checkArgs makes c name the argument that is missing or too many, by the line of its usage.
func checkArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		names := argNames(cmd.Use)
		help := fmt.Sprintf("write `%s`; `%s --help` describes the command", strings.TrimSuffix(cmd.UseLine(), " [flags]"),
			cmd.CommandPath())
		switch {
		case len(names) == 0:
			return UsageError(fmt.Sprintf("%q is not expected: `%s` takes flags and no arguments", args[0], cmd.CommandPath()), help)
		case len(args) < len(names):
			return UsageError(fmt.Sprintf("the argument %s is missing", names[len(args)]), help)
		}
		return UsageError(fmt.Sprintf("%q is not expected: `%s` takes %s", args[len(names)], cmd.CommandPath(), strings.Join(names, " ")),
			help)
	}
}

// argNames returns the names of the arguments in the usage line of a command: FILE|- of
// "ingest FILE|- --format csv".
func argNames(use string) (names []string) {
	words := strings.Fields(use)[1:]
	for i, w := range words {
		flag := strings.HasPrefix(w, "--") || strings.HasPrefix(w, "-") && len(w) == 2
		value := i > 0 && (strings.HasPrefix(words[i-1], "-") && words[i-1] != "-")
		if !flag && !value {
			names = append(names, w)
		}
	}
	return names
}
