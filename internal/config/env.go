package config

import (
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
)

const (
	envPrefix = "WEIR_"

	// EnvFile names the configuration file when no flag does.
	EnvFile = "WEIR_CONFIG"
	// EnvServer names the server that client commands ask when no flag does.
	EnvServer = "WEIR_SERVER"
	// EnvTest begins the names that belong to the project's own tests.
	EnvTest = "WEIR_TEST_"
)

// readEnv reads the WEIR_ variables of environ ("NAME=value") into dotted keys.
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
		case !ignoredEnv(name):
			problems = append(problems, unknown(name, name, known))
		}
		return "", nil
	}
	// An empty delimiter and empty names: the provider is used to select and split, found keeps the origin.
	p := env.Provider("", env.Opt{Prefix: envPrefix, TransformFunc: visit, EnvironFunc: func() []string { return environ }})
	if _, err := p.Read(); err != nil {
		problems = append(problems, Problem{What: "cannot read the environment", Fix: rootCause(err)})
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Where, b.Where) })
	return found, problems
}

// ignoredEnv tells whether a WEIR_ variable that is no setting may be there all the same: names reserved above, and the
// ones that Kubernetes puts into every pod when a service is called weir, such as WEIR_PORT_8080_TCP_ADDR. Without the
// exception a process would refuse to start for the name of its own service.
func ignoredEnv(name string) bool {
	if name == EnvFile || name == EnvServer || strings.HasPrefix(name, EnvTest) {
		return true
	}
	rest := name[len(envPrefix)-1:] // with the underscore
	return strings.HasSuffix(rest, "_SERVICE_HOST") || strings.Contains(rest, "_SERVICE_PORT") ||
		strings.HasSuffix(rest, "_PORT") || strings.Contains(rest, "_PORT_")
}

// unknown is the problem of a name that is none of known.
func unknown(where, name string, known []string) Problem {
	p := Problem{Where: where, Key: name, What: "unknown key \"" + name + "\"", Fix: "`weir config print` lists every key"}
	if n, ok := Nearest(name, known); ok {
		p.Fix = "did you mean \"" + n + "\"?"
	}
	return p
}
