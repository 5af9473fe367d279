package lease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Longest names, in bytes: what DynamoDB lets a key have, less what stands around them.
const (
	MaxName = 128  // of a client, a pool, a region
	MaxKey  = 1024 // of a key, and of a resource

	maxPartition = 2048
)

// ErrName is the error of a name that cannot be used.
var ErrName = errors.New("this name cannot be used")

// CheckName says what is wrong with a client's, pool's, region's or key's name or a resource: what is the noun, most the
// longest in bytes. All bytes are allowed that are UTF-8 without control characters: separators are escaped.
func CheckName(what, name string, most int) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: the %s is empty", ErrName, what)
	case len(name) > most:
		return fmt.Errorf("%w: the %s has %d bytes, %d are allowed: it begins with %.40q", ErrName, what, len(name), most, name)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: the %s is not UTF-8: %.80q", ErrName, what, name)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%w: the %s has a control character: %.80q", ErrName, what, name)
	}
	return nil
}

// escape makes a component in which no separator occurs: # is the separator of keys, % the escape.
func escape(s string) string {
	if !strings.ContainsAny(s, "#%") {
		return s
	}
	return strings.NewReplacer("%", "%25", "#", "%23").Replace(s)
}

func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	return strings.NewReplacer("%25", "%", "%23", "#").Replace(s)
}

// CheckLease says what is wrong with the names of a lease, each for itself and all of them as a partition key.
func CheckLease(client, pool, key string) error {
	err := CheckName("client", client, MaxName)
	if err == nil {
		err = CheckName("pool", pool, MaxName)
	}
	if err == nil {
		err = CheckName("key", key, MaxKey)
	}
	if err != nil {
		return err
	}
	if n := len(KeyRows(client, pool, key)); n > maxPartition {
		return fmt.Errorf("%w: client, pool and key have %d bytes together, %d are allowed; each # and %% counts as three", ErrName, n, maxPartition)
	}
	return nil
}

// PrimaryKey is the primary key of a row of the table.
type PrimaryKey struct{ Partition, Sort string }

// ResourcePartitions is over how many partition keys a client's resources are spread, so that no partition has all of them.
const ResourcePartitions = 256

// ResourceRow is the primary key of a resource's row.
func ResourceRow(client, resource string) PrimaryKey {
	return PrimaryKey{ResourcePartition(client, int(xxhash.Sum64String(resource)%ResourcePartitions)), resource}
}

// ResourcePartition is one of the partitions that have a client's resources.
func ResourcePartition(client string, n int) string {
	return "R#" + escape(client) + "#" + strconv.Itoa(n)
}

// KeyRows is the partition that has a key's rows, one for each region; the sort key is the region.
func KeyRows(client, pool, key string) string {
	return "K#" + escape(client) + "#" + escape(pool) + "#" + escape(key)
}

// ClientRow is the primary key of a client's settings.
func ClientRow(client string) PrimaryKey { return PrimaryKey{"C", client} }

// PoolRow is the primary key of a pool's settings.
func PoolRow(client, pool string) PrimaryKey {
	return PrimaryKey{"C#" + escape(client), "pool#" + pool}
}

// RegionRow is the primary key of a region's settings.
func RegionRow(region string) PrimaryKey { return PrimaryKey{"G", region} }

// ImportRow is the primary key of how far an import of resources came.
func ImportRow(client, id string) PrimaryKey { return PrimaryKey{"I#" + escape(client), id} }

// DemandRow is the primary key of the count of refusals of a pool in a region.
func DemandRow(client, pool, region string) PrimaryKey {
	return PrimaryKey{"D#" + escape(client) + "#" + escape(pool), region}
}

// DemandOf gives what a partition of counts of refusals is of.
func DemandOf(partition string) (client, pool string, ok bool) { return poolOf(partition, "D") }

// HeadroomRow is the primary key of how a pool stands in a region.
func HeadroomRow(client, pool, region string) PrimaryKey {
	return PrimaryKey{"H#" + escape(client) + "#" + escape(pool), region}
}

func poolOf(partition, kind string) (client, pool string, ok bool) {
	parts := strings.Split(partition, "#")
	if len(parts) != 3 || parts[0] != kind {
		return "", "", false
	}
	return unescape(parts[1]), unescape(parts[2]), true
}

// HeartbeatRow is the primary key of a region's sign of life.
func HeartbeatRow(region string) PrimaryKey { return PrimaryKey{"B", region} }

// WriteLeases is the partition that has the leases of all regions, and HomeRow.
const WriteLeases = "L"

// WriteLeaseRow is the primary key of until when leases may be written through a region, as far as another one vouches for it.
// It is written through that one's endpoint.
func WriteLeaseRow(region, by string) PrimaryKey {
	return PrimaryKey{WriteLeases, escape(region) + "#" + escape(by)}
}

// WriteLeaseOf gives what a row of that partition is about; ok is false for another row.
func WriteLeaseOf(sort string) (region, by string, ok bool) {
	region, by, ok = strings.Cut(sort, "#")
	return unescape(region), unescape(by), ok && region != "" && by != "" && !strings.Contains(by, "#")
}

// HomeRow is the primary key of the row that says through which region settings and new resources are written.
func HomeRow() PrimaryKey { return PrimaryKey{WriteLeases, "home"} }

// Holder is what a resource row says of who holds it: the key, and of which pool, since the resource may come to another.
func Holder(pool, key string) string { return escape(pool) + "#" + escape(key) }

// HolderOf gives the pool and key of a Holder.
func HolderOf(holder string) (pool, key string, ok bool) {
	pool, key, ok = strings.Cut(holder, "#")
	return unescape(pool), unescape(key), ok
}

// KeyOf gives what a partition of key rows is of.
func KeyOf(partition string) (client, pool, key string, ok bool) {
	parts := strings.Split(partition, "#")
	if len(parts) != 4 || parts[0] != "K" {
		return "", "", "", false
	}
	return unescape(parts[1]), unescape(parts[2]), unescape(parts[3]), true
}

// ResourceOf gives the client whose resources a partition has; ok is false if it has none.
func ResourceOf(partition string) (client string, ok bool) {
	parts := strings.Split(partition, "#")
	if len(parts) != 3 || parts[0] != "R" {
		return "", false
	}
	if n, err := strconv.Atoi(parts[2]); err != nil || n < 0 || n >= ResourcePartitions || strconv.Itoa(n) != parts[2] {
		return "", false
	}
	return unescape(parts[1]), true
}

// SettingsOf gives the client and pool of a pool's settings; ok is false for another row.
func SettingsOf(p PrimaryKey) (client, pool string, ok bool) {
	parts := strings.Split(p.Partition, "#")
	pool, ok = strings.CutPrefix(p.Sort, "pool#")
	if len(parts) != 2 || parts[0] != "C" || !ok {
		return "", "", false
	}
	return unescape(parts[1]), pool, true
}

// Bucket is the partition of the index of available resources: n is below the pool's sub-partitions.
func Bucket(client, pool, region string, n int) string {
	return escape(client) + "#" + escape(pool) + "#" + escape(region) + "#" + strconv.Itoa(n)
}
