package config

import (
	"reflect"
	"strings"
	"time"
)

// Kind is the type of a setting.
type Kind string

const (
	KindString   Kind = "string"
	KindBool     Kind = "bool"     // true or false
	KindInteger  Kind = "integer"  // a whole number
	KindDuration Kind = "duration" // a number with a unit, such as 100ms
	KindBytes    Kind = "bytes"    // a size such as 64MiB
	KindList     Kind = "list"     // items separated by commas, or a YAML sequence
	KindSecret   Kind = "secret"   // never printed
	KindDCs      Kind = "dcs"      // datacentres, see DC
)

// Key describes one setting.
type Key struct {
	Name    string // dotted key, such as "kafka.tls.ca_file"
	Kind    Kind
	Default string
	Unit    string
	Min     string // inclusive; "" means no bound
	Max     string
	OneOf   []string // allowed values; nil for all
	Doc     string
	EnvOnly bool // not allowed in files and flags

	check string
	index []int // path of the field in Config
}

// Env returns the name of the key's environment variable.
func (k Key) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// allows reports whether the key may come from o.
func (k Key) allows(o Origin) bool {
	return !k.EnvOnly || o == OriginEnv || o == OriginDefault
}

// Range describes the allowed values in words, "" if all are allowed.
func (k Key) Range() string {
	switch {
	case k.OneOf != nil:
		var names []string
		for _, o := range k.OneOf {
			if o == "" {
				o = `""`
			}
			names = append(names, o)
		}
		return "one of " + strings.Join(names, ", ")
	case k.Min != "" && k.Max != "":
		return k.Min + " to " + k.Max
	}
	return formatOf(k.check).want
}

// Keys returns all settings in the order of Config.
func Keys() []Key {
	return keysOf(reflect.TypeFor[Config](), "", nil)
}

// keysOf returns the settings of t, a struct of sections and settings.
func keysOf(t reflect.Type, prefix string, index []int) []Key {
	var keys []Key
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		path := append(append([]int(nil), index...), i)
		kind := kindOf(f.Type)
		if kind == "" {
			keys = append(keys, keysOf(f.Type, prefix+name+".", path)...)
			continue
		}
		k := Key{
			Name: prefix + name, Kind: kind, Default: f.Tag.Get("default"), Unit: f.Tag.Get("unit"),
			Min: f.Tag.Get("min"), Max: f.Tag.Get("max"), Doc: f.Tag.Get("doc"),
			EnvOnly: f.Tag.Get("source") == "env", check: f.Tag.Get("check"), index: path,
		}
		if o, ok := f.Tag.Lookup("oneof"); ok {
			k.OneOf = strings.Split(o, ",")
		}
		keys = append(keys, k)
	}
	return keys
}

// kindOf returns the kind of a field's type, "" for a section.
func kindOf(t reflect.Type) Kind {
	switch t {
	case reflect.TypeFor[Secret]():
		return KindSecret
	case reflect.TypeFor[Bytes]():
		return KindBytes
	case reflect.TypeFor[time.Duration]():
		return KindDuration
	case reflect.TypeFor[[]DC]():
		return KindDCs
	case reflect.TypeFor[[]string]():
		return KindList
	case reflect.TypeFor[string]():
		return KindString
	case reflect.TypeFor[bool]():
		return KindBool
	case reflect.TypeFor[int]():
		return KindInteger
	}
	return ""
}

// keysByName returns Keys by name.
func keysByName() map[string]Key {
	m := map[string]Key{}
	for _, k := range Keys() {
		m[k.Name] = k
	}
	return m
}

// names returns the dotted names of keys.
func names(keys []Key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.Name
	}
	return out
}
