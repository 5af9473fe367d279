package config

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DC is a datacentre of the ring, and how to reach its brokers.
type DC struct {
	Name    string   `key:"name" check:"dc"`
	Brokers []string `key:"brokers" check:"hostport"`
	TLS     TLS      `key:"tls"`
	SASL    SASL     `key:"sasl"`
	Rate    Bytes    `key:"rate" default:"0" min:"0" max:"1TiB"` // copied per second by one process; 0: no maximum
}

// Kafka returns the connection to the brokers of the datacentre.
func (d DC) Kafka() Kafka { return Kafka{d.Brokers, d.TLS, d.SASL} }

// text returns the short form of d, which has no TLS and no SASL.
func (d DC) text() string {
	if len(d.Brokers) == 0 {
		return d.Name
	}
	return d.Name + "=" + strings.Join(d.Brokers, "+")
}

// Peers returns the other datacentres, in the order of the ring.
func (c *Config) Peers() []DC {
	return slices.DeleteFunc(slices.Clone(c.DCs), func(d DC) bool { return d.Name == c.DC })
}

// PeerNames returns the names of Peers.
func (c *Config) PeerNames() (names []string) {
	for _, d := range c.Peers() {
		names = append(names, d.Name)
	}
	return names
}

// PushTargets returns the datacentres into which this one writes its totals: the next two of the
// ring, or all others if these are fewer.
func (c *Config) PushTargets() []DC { return c.targetsOf(c.DC) }

// PushWriters returns the names of the datacentres that write their totals into this one, in the
// order of the ring.
func (c *Config) PushWriters() (names []string) {
	for _, d := range c.Peers() {
		if slices.ContainsFunc(c.targetsOf(d.Name), func(t DC) bool { return t.Name == c.DC }) {
			names = append(names, d.Name)
		}
	}
	return names
}

// pushCopies is the number of datacentres into which each one writes its totals, if there are so
// many others.
const pushCopies = 2

func (c *Config) targetsOf(dc string) (list []DC) {
	at := slices.IndexFunc(c.DCs, func(d DC) bool { return d.Name == dc })
	for n := 1; n <= min(pushCopies, len(c.DCs)-1) && at >= 0; n++ {
		list = append(list, c.DCs[(at+n)%len(c.DCs)])
	}
	return list
}

// Ring returns the short form of each datacentre of the ring, without TLS and SASL: NAME, or
// NAME=host:port+host:port.
func (c *Config) Ring() (texts []string) {
	for _, d := range c.DCs {
		texts = append(texts, d.text())
	}
	return texts
}

// parseDCs parses the value of dcs: items of a YAML sequence, or a text of items that are separated
// by commas. An item is a DC from a mapping, or a text: name, or name=host:port+host:port.
func parseDCs(raw any) (list []DC, err error) {
	var items []any
	switch v := raw.(type) {
	case string:
		for _, s := range splitList(v) {
			items = append(items, s)
		}
	case []any:
		items = v
	default:
		return nil, errors.New("takes a list of datacentres")
	}
	for _, item := range items {
		d, ok := item.(DC)
		if text, isText := item.(string); isText {
			if d, err = parseDC(text); err != nil {
				return nil, err
			}
		} else if !ok {
			return nil, errors.New("takes a list of datacentres")
		}
		if d.Name == "" {
			return nil, errors.New("a datacentre has no name")
		}
		if slices.ContainsFunc(list, func(o DC) bool { return o.Name == d.Name }) {
			return nil, fmt.Errorf("%q is listed twice", d.Name)
		}
		list = append(list, d)
	}
	return list, nil
}

func parseDC(text string) (d DC, err error) {
	name, brokers, has := strings.Cut(text, "=")
	d.Name = name
	if f := formatOf("dc"); !f.ok(name) {
		return d, fmt.Errorf("%q is not allowed: the name must be %s", text, f.want)
	}
	if !has {
		return d, nil
	}
	d.Brokers = strings.Split(brokers, "+")
	for _, b := range d.Brokers {
		if f := formatOf("hostport"); !f.ok(b) {
			return d, fmt.Errorf("%q is not allowed: write name=%s, and + between several", text, f.want)
		}
	}
	return d, nil
}

// dcs reads the items of a sequence below the key dcs.
func (f *fileReader) dcs(n *yaml.Node) {
	items := make([]any, 0, len(n.Content))
	for _, item := range n.Content {
		switch item.Kind {
		case yaml.ScalarNode:
			items = append(items, item.Value)
		case yaml.MappingNode:
			items = append(items, f.mappedDC(item))
		default:
			f.problem(item, dcsKey, "dcs: an item is a mapping or a name", "write `- name: eu` and below it `brokers: [host:port]`")
			return
		}
	}
	f.set(n, dcsKey, items)
}

// mappedDC reads one item. Its settings are those of section kafka, and a name.
func (f *fileReader) mappedDC(n *yaml.Node) (d DC) {
	of := &fileReader{path: f.path, found: map[string]setting{}}
	of.walk(n, "")
	keys := keysOf(reflect.TypeFor[DC](), "", nil)
	byName := map[string]Key{}
	for _, k := range keys {
		byName[k.Name] = k
		if _, set := of.found[k.Name]; !set && k.Default != "" {
			of.found[k.Name] = setting{value: k.Default}
		}
	}
	given := source{origin: OriginFile, settings: map[string]setting{}}
	dst := reflect.ValueOf(&d).Elem()
	for name, set := range of.found {
		k, known := byName[name]
		if !known || k.EnvOnly {
			given.settings[name] = set
			continue
		}
		v, err := k.parse(set.value)
		if err != nil {
			of.problems = append(of.problems, Problem{Where: set.where, Key: name, What: name + ": " + err.Error(), Fix: k.help()})
			continue
		}
		dst.FieldByIndex(k.index).Set(reflect.ValueOf(v))
	}
	of.problems = append(of.problems, refusedOf(given, byName, names(keys))...)
	for _, p := range of.problems {
		p.Key, p.What = dcsKey+"."+p.Key, dcsKey+": "+p.What
		f.problems = append(f.problems, p)
	}
	return d
}

// useOwnDC sets the section kafka to the brokers of this datacentre in dcs, unless a setting of the
// section is given. So one file can serve all datacentres.
func (c *Config) useOwnDC() {
	own := slices.IndexFunc(c.DCs, func(d DC) bool { return d.Name == c.DC })
	if own < 0 || len(c.DCs[own].Brokers) == 0 {
		return
	}
	given := func(e Entry) bool { return strings.HasPrefix(e.Key, "kafka.") && e.Origin != OriginDefault }
	if slices.ContainsFunc(c.entries, given) {
		return
	}
	c.Kafka = c.DCs[own].Kafka()
	from := Entry{Origin: OriginDefault}
	for _, e := range c.entries {
		if e.Key == dcsKey {
			from = e
		}
	}
	dst := reflect.ValueOf(c).Elem()
	for i, k := range Keys() {
		if strings.HasPrefix(k.Name, "kafka.") {
			c.entries[i] = k.entry(Entry{Origin: from.Origin, Where: from.Where}, dst.FieldByIndex(k.index))
		}
	}
}

// printDCs writes the datacentres as the items of a YAML sequence.
func printDCs(w io.Writer, list []DC) {
	for _, d := range list {
		fmt.Fprintf(w, "  - name: %s\n", quoted(d.Name))
		section := ""
		for _, k := range keysOf(reflect.TypeFor[DC](), "", nil)[1:] {
			value := show(reflect.ValueOf(d).FieldByIndex(k.index))
			if k.EnvOnly || value == k.Default {
				continue
			}
			in, name := "    ", k.Name
			if of, key, nested := strings.Cut(k.Name, "."); nested {
				if of != section {
					fmt.Fprintf(w, "    %s:\n", of)
				}
				section, in, name = of, "      ", key
			}
			fmt.Fprintf(w, "%s%s: %s\n", in, name, quoted(value))
		}
	}
}

// dcsKey is the key whose items are mappings.
const dcsKey = "dcs"
