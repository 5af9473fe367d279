package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/internal/config"
)

// app is what the commands share: the process, the global flags, and the way to configuration and output.
type app struct {
	process

	configFile string       // -f
	format     outputFormat // -o
	server     string       // --server
	bindings   []binding    // flags that are settings

	running bool // a command's own code has begun: from here on an error is not one of usage
}

// binding ties a flag to the configuration key that it sets.
type binding struct {
	key  string
	flag *pflag.Flag
}

func newApp(p process) *app { return &app{process: p, format: formatTable} }

// bind makes flag name of flags set configuration key. Only a flag that was given counts; its default is the key's.
func (a *app) bind(flags *pflag.FlagSet, name, key string) {
	a.bindings = append(a.bindings, binding{key, flags.Lookup(name)})
}

// loadConfig returns the effective configuration. Its error is a *config.Error, exit code 78.
func (a *app) loadConfig() (*config.Config, error) {
	flags := map[string]config.Flag{}
	for _, b := range a.bindings {
		if b.flag.Changed {
			flags[b.key] = config.Flag{Name: "--" + b.flag.Name, Value: flagText(b.flag)}
		}
	}
	return config.Load(config.Options{File: a.configFile, Environ: append([]string{}, a.environ...), Flags: flags})
}

// flagText is the flag's value as a setting: lists without pflag's brackets.
func flagText(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}

// getenv returns the value of name in the process's environment, "" if it is not there.
func (a *app) getenv(name string) string {
	for _, kv := range slices.Backward(a.environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// serverAddr returns the server to ask, host:port or a URL: --server, WEIR_SERVER, or where the server of configuration c is.
func (a *app) serverAddr(c *config.Config) (string, error) {
	s, from := a.server, "--server"
	if s == "" {
		s, from = a.getenv(config.EnvServer), config.EnvServer
	}
	if s == "" {
		s, from = c.API.Server()
	}
	whole := s
	if !strings.Contains(s, "://") {
		whole = "http://" + s
	}
	u, err := url.Parse(whole)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", &failure{
			code: exitUsage, what: "cannot tell which server to ask",
			why: fmt.Sprintf("%s = %q is no address", from, s), do: "write host:port, or a URL that begins with http:// or https://",
		}
	}
	return strings.TrimSuffix(s, "/"), nil
}

// say writes one line of talk to stderr.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.stderr, format+"\n", args...)
}

// terminal tells whether stderr is one: whether progress bars make sense.
func (a *app) terminal() bool {
	f, ok := a.stderr.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// color tells whether talk may be coloured (see https://no-color.org).
func (a *app) color() bool {
	return a.terminal() && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}
