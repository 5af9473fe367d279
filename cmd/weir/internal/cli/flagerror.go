package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/internal/config"
)

// exclusiveGroups is the annotation of cobra.Command.MarkFlagsMutuallyExclusive. cobra does not
// export it.
const exclusiveGroups = "cobra_annotation_mutually_exclusive"

// checkFlags returns a usage error for required flags that are missing, and for two flags that
// exclude each other. cobra checks the same after it, but its texts name no flag as the user writes
// it.
func checkFlags(c *cobra.Command, _ []string) error {
	var missing []string
	var clash [][]string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed && slices.Equal(f.Annotations[cobra.BashCompOneRequiredFlag], []string{"true"}) {
			missing = append(missing, "--"+f.Name)
		}
		for _, group := range f.Annotations[exclusiveGroups] {
			var given []string
			for name := range strings.FieldsSeq(group) {
				if c.Flags().Changed(name) {
					given = append(given, "--"+name)
				}
			}
			if len(given) > 1 {
				clash = append(clash, given)
			}
		}
	})
	switch {
	case len(missing) == 1:
		return UsageError(missing[0]+" is missing", fmt.Sprintf("add %s; `%s --help` describes it", missing[0], c.CommandPath()))
	case len(missing) > 1:
		return UsageError(and(missing)+" are missing", fmt.Sprintf("add these flags; `%s --help` describes them", c.CommandPath()))
	case len(clash) > 0:
		return UsageError(and(clash[0])+" exclude each other", "give only one of these flags")
	}
	return nil
}

// and joins names: "a, b and c".
func and(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// flagError explains a flag that does not exist, that has no value, or whose value does not parse.
func flagError(c *cobra.Command, err error) error {
	help := fmt.Sprintf("`%s --help` lists the flags", c.CommandPath())
	var unknown *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return UsageError(err.Error(), unknownFlagRemedy(c, unknown.GetSpecifiedName(), help))
	case errors.As(err, &noValue):
		f := noValue.GetFlag()
		return UsageError(fmt.Sprintf("--%s has no value", f.Name), fmt.Sprintf("write --%s VALUE; %s", f.Name, help))
	case errors.As(err, &value):
		return valueError(value, help)
	}
	return UsageError(err.Error(), help)
}

// unknownFlagRemedy proposes the flag of c with the most similar name, help without one.
func unknownFlagRemedy(c *cobra.Command, name, help string) string {
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if n, ok := config.Nearest(name, known); ok {
		return fmt.Sprintf("did you mean --%s?", n)
	}
	return help
}

// valueError explains the value of a flag. A flag with a type of its own explains it itself.
func valueError(err *pflag.InvalidValueError, help string) error {
	f := err.GetFlag()
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = fmt.Sprintf("-%s, --%s", f.Shorthand, f.Name)
	}
	value := strconv.Quote(err.GetValue())
	var number *strconv.NumError
	isNumber := errors.As(err, &number)
	switch kind := f.Value.Type(); {
	case kind == "duration":
		return UsageError(name+" "+value+" is not a duration", "write a number and a unit, such as 500ms, 30s, 10m or 24h")
	case kind == "bool":
		return UsageError(name+" "+value+" is neither true nor false", fmt.Sprintf("write --%[1]s for true, or --%[1]s=false", f.Name))
	case isNumber && errors.Is(number.Err, strconv.ErrRange):
		return UsageError(name+" "+value+" is out of range", "write a smaller number; "+help)
	case isNumber && strings.HasPrefix(kind, "float"):
		return UsageError(name+" "+value+" is not a number", "write digits with an optional decimal point, such as 0.5")
	case isNumber:
		return UsageError(name+" "+value+" is not a whole number", "write digits without a unit, such as 100")
	}
	return UsageError(fmt.Sprintf("%s: %v", name, err.Unwrap()), help)
}
