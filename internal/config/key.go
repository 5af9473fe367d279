package config

import (
	"reflect"
	"strings"
	"time"
)

// Kind is what a setting holds.
type Kind string

const (
	KindString   Kind = "string"
	KindBool     Kind = "bool"     // true or false
	KindInteger  Kind = "integer"  // a whole number
	KindDuration Kind = "duration" // a number with a unit, as in 100ms
	KindBytes    Kind = "bytes"    // a size, as in 64MiB
	KindList     Kind = "list"     // separated by commas, or a YAML sequence
	KindSecret   Kind = "secret"   // never shown
)

// Key describes one setting: a row of the reference.
type Key struct {
	Name    string // dotted, as in a file: "kafka.tls.ca_file"
	Kind    Kind
	Default string
	Unit    string
	Min     string // inclusive; "" = no bound
	Max     string
	OneOf   []string // allowed values; nil = any
	Doc     string
	EnvOnly bool // refused in files and flags

	check string
	index []int // field path in Config
}

// Env is the name of the key's environment variable.
func (k Key) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// allows tells whether the key may come from o.
func (k Key) allows(o Origin) bool {
	return !k.EnvOnly || o == OriginEnv || o == OriginDefault
}

// Range says in words which values the key takes, or "" if any.
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
	return formOf(k.check).want
}

// Keys returns every setting in the order of the struct.
func Keys() []Key {
	return keysOf(reflect.TypeFor[Config](), "", nil)
}

// keysOf walks the tags of t, a struct of sections and leaves.
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

// kindOf maps a field's type to its kind, "" for a section.
func kindOf(t reflect.Type) Kind {
	switch t {
	case reflect.TypeFor[Secret]():
		return KindSecret
	case reflect.TypeFor[Bytes]():
		return KindBytes
	case reflect.TypeFor[time.Duration]():
		return KindDuration
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

// keysByName indexes Keys.
func keysByName() map[string]Key {
	m := map[string]Key{}
	for _, k := range Keys() {
		m[k.Name] = k
	}
	return m
}

// names lists the dotted names of keys.
func names(keys []Key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.Name
	}
	return out
}
