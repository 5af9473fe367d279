package liberator

import (
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/state/packed"
)

// Resource is the state of a resource: a few bytes if it is free, about 30 if it is leased.
type Resource struct {
	Version int64  `json:"version"`
	Expires int64  `json:"expires_ms"` // end of its lease, Unix ms; 0 without a lease
	Owner   string `json:"owner"`      // region; empty without a lease
	Timer   int64  `json:"timer_ms"`   // time of its timer, Unix ms; 0 without one
	Tries   int64  `json:"tries"`      // commands for this version
	HasSlot bool   `json:"has_slot"`   // the timer is a slot of the budget
}

func (r *Resource) append(dst []byte) []byte {
	dst = packed.AppendInt(dst, r.Version)
	if r.Expires == 0 {
		return dst
	}
	dst = packed.AppendInt(dst, r.Expires)
	dst = packed.AppendString(dst, r.Owner)
	dst = packed.AppendInt(dst, r.Timer)
	tries := r.Tries << 1
	if r.HasSlot {
		tries |= 1
	}
	return packed.AppendInt(dst, tries)
}

// ParseResource decodes a value of TableResources.
func ParseResource(value []byte) (r Resource, err error) {
	p := packed.NewReader(value)
	r.Version = p.Int()
	if p.Len() > 0 {
		r.Expires, r.Owner, r.Timer, r.Tries = p.Int(), p.String(), p.Int(), p.Int()
		r.Tries, r.HasSlot = r.Tries>>1, r.Tries&1 == 1
	}
	return r, p.End()
}

func resources() state.Func[Resource] {
	return state.Func[Resource]{AppendFunc: func(dst []byte, r Resource) []byte { return r.append(dst) }, DecodeFunc: ParseResource}
}

// pool is the settings of a pool that the liberator uses.
type pool struct {
	version    int64
	quarantine int64 // ms
	buckets    int32
}

func pools() state.Func[pool] {
	return state.Func[pool]{
		AppendFunc: func(dst []byte, p pool) []byte {
			return packed.AppendInt(packed.AppendInt(packed.AppendInt(dst, p.version), p.quarantine), int64(p.buckets))
		},
		DecodeFunc: func(value []byte) (pool, error) {
			r := packed.NewReader(value)
			p := pool{version: r.Int(), quarantine: r.Int(), buckets: int32(r.Int())}
			return p, r.End()
		},
	}
}
