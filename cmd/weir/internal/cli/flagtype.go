package cli

import "github.com/spf13/pflag"

// plainFlag is a flag whose type in the help is a word of users, not the name of a type of Go.
type plainFlag struct {
	pflag.Value
	name string
}

// Type implements pflag.Value.
func (f plainFlag) Type() string { return f.name }

// plainTypes renames the types of flags that the help would show as int32 or stringArray.
func plainTypes(set *pflag.FlagSet) {
	names := map[string]string{"int32": "int", "uint": "int", "uint64": "int", "stringArray": "string"}
	set.VisitAll(func(f *pflag.Flag) {
		if name, ok := names[f.Value.Type()]; ok {
			f.Value = plainFlag{f.Value, name}
			if f.DefValue == "[]" {
				f.DefValue = ""
			}
		}
	})
}
