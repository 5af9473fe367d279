package cli

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

// App is what the commands share: the process, the global flags, and the way to configuration and output.
type App struct {
	Process

	ConfigFile string    // -f
	Format     Format    // -o
	server     string    // --server
	bindings   []binding // flags that are settings

	running bool // a command's own code has begun: from here on an error is not one of usage
}

// binding ties a flag to the configuration key that it sets.
type binding struct {
	key  string
	flag *pflag.Flag
}

// NewApp returns the state that the commands of one process share.
func NewApp(p Process) *App { return &App{Process: p, Format: formatTable} }

// Bind makes flag name of flags set configuration key. Only a flag that was given counts; its default is the key's.
func (a *App) Bind(flags *pflag.FlagSet, name, key string) {
	a.bindings = append(a.bindings, binding{key, flags.Lookup(name)})
}

// LoadConfig returns the effective configuration. Its error is a *config.Error, exit code 78.
func (a *App) LoadConfig() (*config.Config, error) {
	flags := map[string]config.Flag{}
	for _, b := range a.bindings {
		if b.flag.Changed {
			flags[b.key] = config.Flag{Name: "--" + b.flag.Name, Value: flagText(b.flag)}
		}
	}
	return config.Load(config.Options{File: a.ConfigFile, Environ: append([]string{}, a.Environ...), Flags: flags})
}

// flagText is the flag's value as a setting: lists without pflag's brackets.
func flagText(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}

// Getenv returns the value of name in the process's environment, "" if it is not there.
func (a *App) Getenv(name string) string {
	for _, kv := range slices.Backward(a.Environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// ServerAddr returns the server to ask, host:port or a URL: --server, WEIR_SERVER, or where the server of configuration c is.
func (a *App) ServerAddr(c *config.Config) (string, error) {
	s, from := a.server, "--server"
	if s == "" {
		s, from = a.Getenv(config.EnvServer), config.EnvServer
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
		return "", &Failure{
			Code: ExitUsage, What: "cannot tell which server to ask",
			Why: fmt.Sprintf("%s = %q is no address", from, s), Do: "write host:port, or a URL that begins with http:// or https://",
		}
	}
	return strings.TrimSuffix(s, "/"), nil
}

// Notef writes one line of talk to stderr.
func (a *App) Notef(format string, args ...any) {
	fmt.Fprintf(a.Stderr, format+"\n", args...)
}

// IsTerminal tells whether stderr is one: whether progress bars make sense.
func (a *App) IsTerminal() bool {
	f, ok := a.Stderr.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Color tells whether talk may be coloured (see https://no-color.org).
func (a *App) Color() bool {
	return a.IsTerminal() && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}
