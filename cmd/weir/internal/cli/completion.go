package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/internal/config"
)

// valuesNote is the annotation of a flag with the values that a shell completes.
const valuesNote = "weir_values"

// Enum makes shells complete the value of the flag name by values. A flag that takes a list is
// completed item by item.
func Enum(f *pflag.FlagSet, name string, values ...string) {
	Must(f.SetAnnotation(name, valuesNote, values))
}

// isPath reports whether the value of a flag is a file or a directory.
func isPath(flag string) bool {
	switch flag {
	case "config", "data-dir", "dir", "file", "rejects", "svg", "picture", "cpu-profile", "ca-file", "token-file", "secret-file":
		return true
	}
	return false
}

// regionNote is the annotation of a flag whose value is a region of the configuration.
const regionNote = "weir_region"

// Region makes shells complete the value of the flags by the regions of the configuration.
func Region(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		Must(f.SetAnnotation(name, regionNote, nil))
	}
}

// addCompletion gives c the completion of its flags and arguments. What is neither a file nor known
// here has no completion: names of files would be wrong.
func (a *App) addCompletion(c *cobra.Command) {
	for _, set := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			if fn, ok := a.completionOf(f); ok {
				_ = c.RegisterFlagCompletionFunc(f.Name, fn) // fails only if the flag has one
			}
		})
	}
	if c.ValidArgsFunction != nil || c.ValidArgs != nil || strings.Contains(c.Use, "FILE") {
		return
	}
	c.ValidArgsFunction = cobra.NoFileCompletions
	if strings.Contains(c.Use, "REGION...") || c.HasParent() && c.Parent().Name() == "region" && strings.Contains(c.Use, "N") {
		c.ValidArgsFunction = a.completeRegion
	}
}

// completionOf returns the completion of a flag, false for one that completes files.
func (a *App) completionOf(f *pflag.Flag) (cobra.CompletionFunc, bool) {
	if isPath(f.Name) {
		return nil, false
	}
	if _, region := f.Annotations[regionNote]; region {
		return a.completeRegion, true
	}
	values := f.Annotations[valuesNote]
	_, list := f.Value.(pflag.SliceValue)
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completions(values, typed, list), cobra.ShellCompDirectiveNoFileComp
	}, true
}

// completions returns the values that begin with what was typed; of a list, its last item.
func completions(values []string, typed string, list bool) []cobra.Completion {
	before := ""
	if i := strings.LastIndexByte(typed, ','); list && i >= 0 {
		before, typed = typed[:i+1], typed[i+1:]
	}
	var found []cobra.Completion
	for _, v := range values {
		if strings.HasPrefix(v, typed) && !slices.Contains(strings.Split(before, ","), v) {
			found = append(found, before+v)
		}
	}
	return found
}

// completeRegion completes a region of the configuration. It asks no server, so that a shell does
// not wait.
func (a *App) completeRegion(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	c, err := a.LoadConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, r := range c.Leases.Regions {
		name, _, _ := config.SplitRegion(r)
		names = append(names, name)
	}
	return completions(names, typed, false), cobra.ShellCompDirectiveNoFileComp
}
