package config

import (
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
)

const (
	envPrefix = "WEIR_"

	// EnvFile is the variable with the path of the configuration file. A flag overrides it.
	EnvFile = "WEIR_CONFIG"
	// EnvServer is the variable with the server that client commands connect to. A flag overrides
	// it.
	EnvServer = "WEIR_SERVER"
	// EnvTest is the prefix of the variables of the project's tests.
	EnvTest = "WEIR_TEST_"
)

// readEnv returns the settings in the WEIR_ variables of environ ("NAME=value"), by dotted key.
func readEnv(environ []string) (map[string]setting, []Problem) {
	byEnv := map[string]Key{}
	var known []string
	for _, k := range Keys() {
		byEnv[k.Env()] = k
		known = append(known, k.Env())
	}
	found := map[string]setting{}
	var problems []Problem
	visit := func(name, value string) (string, any) {
		k, ok := byEnv[name]
		switch {
		case ok:
			found[k.Name] = setting{value: value, where: name}
		case !isForeign(name):
			problems = append(problems, unknown(name, name, known))
		}
		return "", nil
	}
	// The provider only selects and splits the variables: visit collects the settings with their
	// origin.
	p := env.Provider("", env.Opt{Prefix: envPrefix, TransformFunc: visit, EnvironFunc: func() []string { return environ }})
	if _, err := p.Read(); err != nil {
		problems = append(problems, Problem{What: "cannot read the environment: " + rootCause(err), Fix: "report this as a bug"})
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Where, b.Where) })
	return found, problems
}

// isForeign reports whether a WEIR_ variable that is not a setting is allowed. These are the
// reserved names above, and the variables that Kubernetes sets in every pod for a service named
// weir, such as WEIR_PORT_8080_TCP_ADDR. Without the exception a service named weir would keep weir
// from starting.
func isForeign(name string) bool {
	if name == EnvFile || name == EnvServer || strings.HasPrefix(name, EnvTest) {
		return true
	}
	rest := name[len(envPrefix)-1:] // begins with the underscore
	return strings.HasSuffix(rest, "_SERVICE_HOST") || strings.Contains(rest, "_SERVICE_PORT") ||
		strings.HasSuffix(rest, "_PORT") || strings.Contains(rest, "_PORT_")
}

// unknown returns the problem of a name that is not among known.
func unknown(where, name string, known []string) Problem {
	p := Problem{Where: where, Key: name, What: "unknown key \"" + name + "\"", Fix: "`weir config print` lists all keys"}
	if n, ok := Nearest(name, known); ok {
		p.Fix = "did you mean \"" + n + "\"?"
	}
	return p
}
