package model

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/weirhq/weir/lease"
)

// symmetry is a renaming of a configuration's resources, keys and clients under which the
// transitions and the invariants stay the same: if a transition leads from one state to another, it
// leads from the renamed state to the other renamed state. So of states that symmetries map onto
// each other only one is explored. A violation is found exactly if there is one, with a history of
// the same length. That holds for:
//
//   - keys and resources: the state machines only compare them for equality, and every operation
//     that is tried with one is tried with each. The owner of a resource is in its row. An import
//     is always of the first resource, which therefore keeps its name.
//   - clients in one region, with the same clock, that want the same keys. What they may still
//     begin is part of the state.
//
// It does not hold for regions: the first by name wins a key and is the one that is cut off, and
// their clocks differ. It does not hold for times and versions, which are compared and added to. A
// renamed state has the new names everywhere: in rows, in the clients' state machines, in commands,
// and as positions in arrays. Names inside the state machines are found by type, so none can be
// missed.
type symmetry struct {
	resources, keys, clients []int // new position of each
	from                     parts // old position of each new one, in parts
	names                    map[string]string

	// Renamed values by number, plus one; 0: not computed yet.
	toRow, toResource, toKeyRows, toClient, toCommand []uint32
}

// symmetries returns the symmetries of the configuration. The first one changes nothing.
func (p *packer) symmetries() (all []*symmetry) {
	for _, resources := range permutations(len(p.Resources)) {
		for _, keys := range permutations(len(p.Keys)) {
			for _, clients := range permutations(len(p.Clients)) {
				s := &symmetry{resources: resources, keys: keys, clients: clients, names: map[string]string{}}
				if !p.symmetric(s) {
					continue
				}
				for r, to := range resources {
					s.names[p.Resources[r].Name], s.from[to] = p.Resources[to].Name, uint32(r)
				}
				for k, to := range keys {
					s.names[p.Keys[k]], s.from[p.keysAt+to] = p.Keys[to], uint32(p.keysAt+k)
				}
				for c, to := range clients {
					s.from[p.clientsAt+to] = uint32(p.clientsAt + c)
				}
				all = append(all, s)
			}
		}
	}
	return all
}

func (p *packer) symmetric(s *symmetry) bool {
	if p.Imports > 0 && s.resources[0] != 0 {
		return false
	}
	for i, to := range s.clients {
		a, b := p.Clients[i], p.Clients[to]
		if k := slices.Index(p.Keys, a.Only); k >= 0 {
			a.Only = p.Keys[s.keys[k]]
		}
		if a.Region != b.Region || a.Skew != b.Skew || a.Only != b.Only {
			return false
		}
	}
	return true
}

// permutations returns all permutations of the numbers below n. The first one is in order.
func permutations(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, shorter := range permutations(n - 1) {
		for at := n - 1; at >= 0; at-- {
			all = append(all, slices.Insert(slices.Clone(shorter), at, n-1))
		}
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// least returns the least of the states that symmetries make of a, by its numbers.
func (p *packer) least(a *parts, group []*symmetry) parts {
	best := *a
	for _, s := range group[1:] {
		p.minimize(a, &best, s)
	}
	return best
}

// minimize sets best to the image of a under s, if that is less. Most often the first number
// decides.
func (p *packer) minimize(a, best *parts, s *symmetry) {
	for i := range p.restAt {
		n := p.renamed(s, i, a[s.from[i]])
		if n > best[i] {
			return
		}
		if n < best[i] {
			p.image(a, best, s)
			return
		}
	}
	b := parts{}
	p.image(a, &b, s)
	if slices.Compare(b[p.commandsAt:p.end], best[p.commandsAt:p.end]) < 0 {
		*best = b
	}
}

// image sets to to the image of a under s.
func (p *packer) image(a, to *parts, s *symmetry) {
	for i := range p.restAt {
		to[i] = p.renamed(s, i, a[s.from[i]])
	}
	to[p.restAt] = a[p.restAt]
	commands := to[p.commandsAt:p.end]
	for i := range commands {
		commands[i] = p.renamed(s, p.commandsAt, a[p.commandsAt+i])
	}
	sortCommands(commands)
}

// renamed returns the number of the image of value n under s, at a position of parts.
func (p *packer) renamed(s *symmetry, place int, n uint32) uint32 {
	switch {
	case place < p.keysAt:
		return lookUp(&s.toResource, n, func() uint32 {
			r := p.resources.list[n]
			for i := range p.Regions {
				r.copies[i] = p.renamedRow(s, r.copies[i])
			}
			return p.resources.id(r)
		})
	case place < p.clientsAt:
		return lookUp(&s.toKeyRows, n, func() uint32 {
			k := p.keyRows.list[n]
			for i := range p.Regions {
				for j := range p.Regions {
					k[i][j] = p.renamedRow(s, k[i][j])
				}
			}
			return p.keyRows.id(k)
		})
	case place < p.restAt:
		return lookUp(&s.toClient, n, func() uint32 { return p.clients.id(s.client(p.clients.list[n])) })
	default:
		return lookUp(&s.toCommand, n, func() uint32 { return p.commands.id(s.command(p.commands.list[n])) })
	}
}

func (p *packer) renamedRow(s *symmetry, n uint32) uint32 {
	return lookUp(&s.toRow, n, func() uint32 {
		row := p.rows.list[n]
		rename(&row, s.names)
		return p.rows.id(row)
	})
}

func (s *symmetry) client(c client) client {
	rename(&c, s.names)
	holds := c.holds
	for k, to := range s.keys {
		c.holds[to] = holds[k]
	}
	if c.op != idle {
		c.key = int8(s.keys[c.key])
	}
	return c
}

func (s *symmetry) command(c command) command {
	rename(&c, s.names)
	switch {
	case c.write.Rule == nil: // none
	case c.resource >= 0:
		c.resource = int8(s.resources[c.resource])
	default:
		c.key = int8(s.keys[c.key])
	}
	return c
}

// lookUp returns the table's value for n. It calls ask for a value that is not known yet.
func lookUp(table *[]uint32, n uint32, ask func() uint32) uint32 {
	if int(n) < len(*table) && (*table)[n] > 0 {
		return (*table)[n] - 1
	}
	for int(n) >= len(*table) {
		*table = append(*table, 0)
	}
	v := ask()
	(*table)[n] = v + 1
	return v
}

// rename replaces all names in a value, at any depth.
func rename[T lease.Row | client | command](v *T, names map[string]string) {
	for _, at := range stringsIn(reflect.TypeFor[T](), 0) {
		s := (*string)(unsafe.Add(unsafe.Pointer(v), at))
		if to, ok := names[*s]; ok {
			*s = to
		}
	}
}

// stringsIn returns the offsets of all strings in a type, exported or not, at any depth of structs
// and arrays. Pointers are not followed: the rules behind them contain no names.
func stringsIn(t reflect.Type, base uintptr) (at []uintptr) {
	switch t.Kind() {
	case reflect.String:
		return []uintptr{base}
	case reflect.Struct:
		for i := range t.NumField() {
			at = append(at, stringsIn(t.Field(i).Type, base+t.Field(i).Offset)...)
		}
	case reflect.Array:
		for i := range t.Len() {
			at = append(at, stringsIn(t.Elem(), base+uintptr(i)*t.Elem().Size())...)
		}
	default:
	}
	return at
}
