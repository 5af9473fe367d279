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

// App is what the commands of a process share: streams, global flags, configuration and output.
type App struct {
	Process

	ConfigFile string    // -f
	Format     Format    // -o
	server     string    // --server
	bindings   []binding // flags that set a configuration key

	running bool // a command's code has begun: later errors are not usage errors
}

// binding is a flag and the configuration key that it sets.
type binding struct {
	key  string
	flag *pflag.Flag
}

// NewApp returns the state that the commands of one process share.
func NewApp(p Process) *App { return &App{Process: p, Format: formatTable} }

// Bind makes the flag name set the configuration key, if the flag is given.
func (a *App) Bind(flags *pflag.FlagSet, name, key string) {
	a.bindings = append(a.bindings, binding{key, flags.Lookup(name)})
}

// LoadConfig returns the effective configuration. Its error is a *config.Error, exit code 78.
func (a *App) LoadConfig() (*config.Config, error) { return a.LoadConfigOf(config.Options{}) }

// LoadConfigOf is LoadConfig with Options.Server and Options.Without of o.
func (a *App) LoadConfigOf(o config.Options) (*config.Config, error) {
	o.File, o.Environ, o.Flags = a.ConfigFile, append([]string{}, a.Environ...), map[string]config.Flag{}
	for _, b := range a.bindings {
		if b.flag.Changed {
			o.Flags[b.key] = config.Flag{Name: "--" + b.flag.Name, Value: flagText(b.flag)}
		}
	}
	return config.Load(o)
}

// flagText returns the value of a flag as the text of a setting: lists without brackets.
func flagText(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), ",")
	}
	return f.Value.String()
}

// Getenv returns the value of an environment variable, "" if it is not set.
func (a *App) Getenv(name string) string {
	for _, kv := range slices.Backward(a.Environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// NamesServer reports whether --server or WEIR_SERVER names a server.
func (a *App) NamesServer() bool { return a.server != "" || a.Getenv(config.EnvServer) != "" }

// ServerAddr returns the server of client commands, host:port or a URL: --server, WEIR_SERVER, or
// the API address of configuration c.
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
			Code: ExitUsage, What: "the server is not valid",
			Why: fmt.Sprintf("%s = %q is not an address", from, s), Do: "write host:port, or a URL that begins with http:// or https://",
		}
	}
	return strings.TrimSuffix(s, "/"), nil
}

// Notef writes a line to stderr, as Printable.
func (a *App) Notef(format string, args ...any) {
	fmt.Fprintln(a.Stderr, Printable(fmt.Sprintf(format, args...)))
}

// IsTerminal reports whether stderr is a terminal, on which progress bars can be drawn.
func (a *App) IsTerminal() bool {
	f, ok := a.Stderr.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// ClearScreen clears a terminal at stdout before an answer that replaces the last one.
func (a *App) ClearScreen() error {
	f, ok := a.Stdout.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return nil
	}
	_, err := f.WriteString("\x1b[H\x1b[2J")
	return err
}

// Color reports whether messages on stderr may have colours (see https://no-color.org).
func (a *App) Color() bool {
	return a.IsTerminal() && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
}
