package spendcounter

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/dense"
)

// keyAlign is the alignment of keys in the arena: with it, 32 bits address 32 GiB.
const keyAlign = 8

var errKeysFull = errors.New("spend counter: keys of one transaction have 32 GiB: commit more often")

// cache holds campaign days in memory: an index from key hash to entry number, the entries in one
// slab, and their keys in another.
type cache struct {
	index  dense.Table
	list   []entry
	keys   []byte
	spills [][]part
	hours  hours
	pairs  pairs
	dirty  []uint32 // numbers of the entries with epoch == epoch
	fresh  []uint32 // those of dirty that committed state does not have
	unread []uint32 // numbers of the entries that lack what is committed
	epoch  uint32   // of the changes since the last flush; from 1
	sink   uint64   // keeps the compiler from removing the prefetching loads

	evictions uint64
}

// hashKey returns the hash of the parts of a spend key. It is used in memory only.
func hashKey(account, campaign []byte, day events.Day, currency events.Currency) uint64 {
	h := xxhash.Sum64(campaign)*0x9e3779b97f4a7c15 + bits.RotateLeft64(xxhash.Sum64(account), 32)
	h ^= (uint64(uint32(day))<<24 | uint64(currency)) * 0xd6e8feb86659fd93
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// find returns the number of the entry with this key, dense.None if it is not in memory.
func (c *cache) find(hash uint64, account, campaign []byte, tail uint64) uint32 {
	for n, cur := c.index.First(hash); n != dense.None; n, cur = c.index.Next(cur) {
		if c.matches(n, account, campaign, tail) {
			return n
		}
	}
	return dense.None
}

// matches reports whether entry number n has this key.
func (c *cache) matches(n uint32, account, campaign []byte, tail uint64) bool {
	key := c.key(&c.list[n])
	la, lc := len(account), len(campaign)
	return len(key) == la+lc+2+keyTail && string(key[:la]) == string(account) && key[la] == 0 &&
		string(key[la+1:la+1+lc]) == string(campaign) && readTail(key) == tail
}

// tailOf returns day and currency as readTail reads them from the end of a key.
func tailOf(day events.Day, currency events.Currency) uint64 {
	return uint64(uint32(day))<<24 | uint64(currency)
}

// splitTail is the inverse of tailOf.
func splitTail(tail uint64) (events.Day, events.Currency) {
	return events.Day(tail >> 24), events.Currency(tail & 0xffffff)
}

// readTail reads the last eight bytes of a key: the NUL after the campaign, day and currency.
func readTail(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// add makes an empty entry for key with the given hash.
func (c *cache) add(hash uint64, key []byte) (uint32, error) {
	at := (len(c.keys) + keyAlign - 1) &^ (keyAlign - 1)
	if at/keyAlign > math.MaxUint32 {
		return 0, errKeysFull
	}
	for len(c.keys) < at {
		c.keys = append(c.keys, 0)
	}
	c.keys = append(c.keys, key...)
	c.list = append(c.list, entry{keyAt: uint32(at / keyAlign), keyLen: uint16(len(key)), dc: noDC})
	if c.hours.on {
		c.hours.newest = append(c.hours.newest, newestHour{})
	}
	if c.pairs.max > 0 {
		c.pairs.lists = append(c.pairs.lists, nil)
	}
	return c.index.Insert(hash), nil
}

func (c *cache) key(e *entry) []byte {
	at := int(e.keyAt) * keyAlign
	return c.keys[at : at+int(e.keyLen)]
}

// touch marks e, entry number n, as changed since the last flush.
func (c *cache) touch(e *entry, n uint32) {
	if e.epoch != c.epoch {
		e.epoch = c.epoch
		c.dirty = append(c.dirty, n)
	}
}

// bytes returns the approximate memory of the cache.
func (c *cache) bytes() int {
	return c.index.Bytes() + 64*cap(c.list) + cap(c.keys) + 24*cap(c.spills) + 24*cap(c.hours.newest) +
		c.pairs.bytes() + 4*(cap(c.dirty)+cap(c.fresh)+cap(c.unread))
}
