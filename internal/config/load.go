package config

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

// Options are the sources of the settings. The zero value stands for the environment of the process
// and the file that it names.
type Options struct {
	// File is the path of a YAML file. Defaults to the value of WEIR_CONFIG, or to no file.
	File string
	// Environ are the environment variables, "NAME=value". Defaults to os.Environ().
	Environ []string
	// Flags are the settings on the command line, by dotted key. Defaults to none.
	Flags map[string]Flag
	// Server are settings that replace defaults, by dotted key: those of a running process, whose
	// address is in Flag.Name. Defaults to none.
	Server map[string]Flag
	// Without is a section that no source but the defaults may set, such as "leases". Defaults to
	// none.
	Without string
	// Hostname returns the host name, for instance if it is not set. Defaults to os.Hostname.
	Hostname func() (string, error)
}

// Flag is a setting from the command line, or of a running process.
type Flag struct {
	Name  string // with dashes, such as "--brokers"; or the address of the process
	Value string
}

// Origin is the kind of a value's source.
type Origin string

const (
	OriginDefault Origin = "default"
	OriginServer  Origin = "server"
	OriginFile    Origin = "file"
	OriginEnv     Origin = "env"
	OriginFlag    Origin = "flag"
)

// source is one layer of settings. Later layers override earlier ones.
type source struct {
	origin   Origin
	settings map[string]setting
}

// Load reads all sources. It returns the effective configuration, or an *Error with all problems.
func Load(o Options) (*Config, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Hostname == nil {
		o.Hostname = os.Hostname
	}
	if o.File == "" {
		o.File = lookup(o.Environ, EnvFile)
	}
	fileLayer := source{origin: OriginFile}
	var problems []Problem
	if o.File != "" {
		fileLayer.settings, problems = readFile(o.File)
	}
	envLayer := source{origin: OriginEnv}
	envSettings, envProblems := readEnv(o.Environ)
	envLayer.settings = envSettings
	flagLayer, serverLayer := layerOf(OriginFlag, o.Flags), layerOf(OriginServer, o.Server)
	problems = append(problems, refused(fileLayer)...)
	problems = append(problems, envProblems...)
	problems = append(problems, refused(flagLayer)...)

	for _, layer := range []source{fileLayer, envLayer, flagLayer} {
		maps.DeleteFunc(layer.settings, func(key string, _ setting) bool {
			return o.Without != "" && strings.HasPrefix(key, o.Without+".")
		})
	}
	c, more := merge([]source{defaults(), serverLayer, fileLayer, envLayer, flagLayer})
	problems = append(problems, more...)
	if c.Instance == "" {
		problems = append(problems, c.nameInstance(o.Hostname)...)
	}
	if len(problems) == 0 {
		c.useOwnDC()
		problems = c.conflicts()
	}
	if len(problems) > 0 {
		return nil, &Error{problems}
	}
	return c, nil
}

// Default returns the configuration without a file, environment variables and flags.
func Default() *Config {
	c, _ := merge([]source{defaults()})
	_ = c.nameInstance(os.Hostname)
	return c
}

// defaults returns the lowest layer, from the tags.
func defaults() source {
	s := source{origin: OriginDefault, settings: map[string]setting{}}
	for _, k := range Keys() {
		s.settings[k.Name] = setting{value: k.Default}
	}
	return s
}

// layerOf returns the layer of settings.
func layerOf(origin Origin, settings map[string]Flag) source {
	s := source{origin: origin, settings: map[string]setting{}}
	for key, f := range settings {
		s.settings[key] = setting{value: f.Value, where: f.Name}
	}
	return s
}

// lookup returns the value of name in environ. The last of several values counts, as in package os.
func lookup(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// refused returns the problems of the names in s: unknown keys, sections with a value, secrets from
// a wrong source.
func refused(s source) []Problem { return refusedOf(s, keysByName(), names(Keys())) }

func refusedOf(s source, byName map[string]Key, known []string) []Problem {
	var problems []Problem
	for name, set := range s.settings {
		k, ok := byName[name]
		switch {
		case ok && k.EnvOnly:
			problems = append(problems, Problem{
				Where: set.where, Key: name, What: name + " is a secret and not allowed here",
				Fix: "write it to a file of its own and set " + name + "_file to the path, or set " + k.Env(),
			})
		case ok:
		case slices.ContainsFunc(known, func(n string) bool { return strings.HasPrefix(n, name+".") }):
			problems = append(problems, Problem{
				Where: set.where, Key: name, What: name + " is a section and takes no value", Fix: "set the keys of the section",
			})
		default:
			problems = append(problems, unknown(set.where, name, known))
		}
	}
	sort.Slice(problems, func(i, j int) bool { return less(problems[i], problems[j]) })
	return problems
}

// less sorts the lines of one file by number.
func less(a, b Problem) bool {
	if len(a.Where) != len(b.Where) {
		return len(a.Where) < len(b.Where)
	}
	return a.Where+a.Key < b.Where+b.Key
}

// merge returns the Config of the sources. A value that does not parse is a problem, and its field
// is zero.
func merge(sources []source) (*Config, []Problem) {
	c := &Config{}
	var problems []Problem
	all := koanf.New(".")
	origin := map[string]Entry{}
	byName := keysByName()
	for _, s := range sources {
		layer := map[string]any{}
		for name, set := range s.settings {
			if k, ok := byName[name]; ok && k.allows(s.origin) {
				layer[name] = set.value
				origin[name] = Entry{Origin: s.origin, Where: set.where}
			}
		}
		if err := all.Load(confmap.Provider(layer, "."), nil); err != nil {
			problems = append(problems,
				Problem{What: fmt.Sprintf("cannot merge the settings of source %s", s.origin), Fix: "report this as a bug"})
		}
	}
	dst := reflect.ValueOf(c).Elem()
	for _, k := range Keys() {
		e := origin[k.Name]
		v, err := k.parse(all.Get(k.Name))
		if err != nil {
			problems = append(problems, Problem{Where: e.Where, Key: k.Name, What: k.Name + ": " + err.Error(), Fix: k.help()})
			v = reflect.Zero(dst.FieldByIndex(k.index).Type()).Interface()
		}
		dst.FieldByIndex(k.index).Set(reflect.ValueOf(v))
		c.entries = append(c.entries, k.entry(e, dst.FieldByIndex(k.index)))
	}
	return c, problems
}

// help returns the default of the key, and where its description is.
func (k Key) help() string {
	const where = "`weir config print -o wide` describes the setting"
	if k.Default == "" {
		return where
	}
	return "the default is " + k.Default + "; " + where
}

// nameInstance sets instance to the host name. A restarted process must find its own transactions,
// and the host name is the most stable name that needs no setting.
func (c *Config) nameInstance(hostname func() (string, error)) []Problem {
	host, err := hostname()
	if f := formatOf("instance"); err != nil || host == "" || !f.ok(host) {
		return []Problem{{
			Key: "instance", What: fmt.Sprintf("instance: the host name %q is not a valid name of a process", host),
			Fix: "set instance to a stable name of " + f.want,
		}}
	}
	c.Instance = host
	for i := range c.entries {
		if c.entries[i].Key == "instance" {
			c.entries[i].Value, c.entries[i].Where = host, "host name"
		}
	}
	return nil
}
