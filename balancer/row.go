package balancer

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/events/eventspb"
)

// The tables.
const (
	TableResources   byte = 1 // client, pool, resource -> row
	TableFree        byte = 2 // client, pool, region, available from (8 bytes), resource -> version; available ones only
	TablePools       byte = 3 // client, pool -> balancerpb.Pool
	TablePoolRegions byte = 4 // client, pool, region -> balancerpb.PoolRegion
	TableProfiles    byte = 5 // client, pool, region -> Profile; after a whole hour
	TableTransfers   byte = 6 // client, pool, resource -> balancerpb.Transfer
	TableRegions     byte = 7 // region -> balancerpb.Region
	TableTask        byte = 8 // "task" -> balancerpb.Task
)

const taskKey = "task"

// row is the state of a resource. It is available, leased, or neither.
type row struct {
	version   int64
	owner     string
	holder    uint64 // hash of the holder; 0 if it is not leased
	expires   int64  // end of the lease, Unix ms
	available int64  // time from which it is available, Unix ms; 0 if it is not
	gone      bool   // it moved to another pool, or may have; older versions are ignored
}

func (r *row) free() bool   { return !r.gone && r.holder == 0 && r.available > 0 }
func (r *row) leased() bool { return !r.gone && r.holder != 0 }

func rowOf(m *eventspb.LeaseResource, gone bool) row {
	r := row{version: m.Version, owner: m.Owner, expires: m.ExpiresMs, available: m.AvailableMs, gone: gone}
	if m.Holder != "" {
		r.holder = max(1, xxhash.Sum64String(m.Holder))
	}
	return r
}

// encode appends r to dst: about 30 bytes.
func (r *row) encode(dst []byte) []byte {
	flags := byte(0)
	if r.gone {
		flags = 1
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, flags), r.holder)
	dst = binary.AppendUvarint(dst, uint64(r.version))
	dst = binary.AppendUvarint(dst, uint64(r.expires))
	dst = binary.AppendUvarint(dst, uint64(r.available))
	return append(dst, r.owner...)
}

var errRow = errors.New("the row of a resource is damaged")

// decodeRow decodes what encode wrote. The owner shares the string of names, so that a scan does
// not allocate.
func decodeRow(src []byte, names []string) (r row, err error) {
	if len(src) < 9 || src[0] > 1 {
		return r, errRow
	}
	r.gone, r.holder, src = src[0] == 1, binary.LittleEndian.Uint64(src[1:]), src[9:]
	for _, v := range []*int64{&r.version, &r.expires, &r.available} {
		u, n := binary.Uvarint(src)
		if n <= 0 {
			return r, errRow
		}
		*v, src = int64(u), src[n:]
	}
	for _, name := range names {
		if string(src) == name {
			r.owner = name
			return r, nil
		}
	}
	r.owner = string(src)
	return r, nil
}

// joinNames returns the key of names, joined by NUL. No name has a NUL.
func joinNames(names ...string) string { return strings.Join(names, "\x00") }

// freeKey returns the key of an available resource. The keys of a pool and region are in the order
// of the times from which the resources are available.
func freeKey(pool string, r *row, resource string) []byte {
	k := append(make([]byte, 0, len(pool)+len(r.owner)+len(resource)+10), pool...)
	k = append(append(append(k, 0), r.owner...), 0)
	k = binary.BigEndian.AppendUint64(k, uint64(r.available))
	return append(k, resource...)
}
