package model

// packer converts states to parts and back.
type packer struct {
	*model
	resources pool[resource]
	keyRows   pool[keyRows]
	globals   pool[globals]

	keysAt, clientsAt, restAt, commandsAt, end int // first index of each kind in parts
}

func newPacker(m *model) *packer {
	p := &packer{model: m, resources: newPool[resource](), keyRows: newPool[keyRows](), globals: newPool[globals]()}
	p.keysAt = len(m.Resources)
	p.clientsAt = p.keysAt + len(m.Keys)
	p.restAt = p.clientsAt + len(m.Clients)
	p.commandsAt = p.restAt + 1
	p.end = p.commandsAt + max(m.Commands, 1)
	return p
}

// pack returns the parts of w, which is one transition away from the state from with the parts
// known.
func (p *packer) pack(w, from *state, known *parts) (to parts) {
	to = *known
	for r := range p.Resources {
		if w.resources[r] != from.resources[r] {
			to[r] = p.resources.id(w.resources[r])
		}
	}
	for k := range p.Keys {
		if w.keys[k] != from.keys[k] {
			to[p.keysAt+k] = p.keyRows.id(w.keys[k])
		}
	}
	copy(to[p.clientsAt:p.restAt], w.clients[:])
	if w.globals != from.globals {
		to[p.restAt] = p.globals.id(w.globals)
	}
	copy(to[p.commandsAt:p.end], w.commands[:])
	return to
}

func (p *packer) unpack(from *parts) (w state) {
	for r := range p.Resources {
		w.resources[r] = p.resources.list[from[r]]
	}
	for k := range p.Keys {
		w.keys[k] = p.keyRows.list[from[p.keysAt+k]]
	}
	copy(w.clients[:], from[p.clientsAt:p.restAt])
	w.globals = p.globals.list[from[p.restAt]]
	copy(w.commands[:], from[p.commandsAt:p.end])
	return w
}

// full reports whether there are more parts than three bytes can number.
func (p *packer) full() bool {
	const most = 1 << (8 * partBytes)
	return max(len(p.resources.list), len(p.keyRows.list), len(p.globals.list), len(p.clients.list), len(p.commands.list)) > most
}
