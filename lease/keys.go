package lease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Maximum lengths of names, in bytes. They leave room in DynamoDB's limits for keys (2048 bytes for
// a partition key, 1024 for a sort key) for prefixes and separators.
const (
	MaxName = 128  // of a client, a pool, a region
	MaxKey  = 1024 // of a key, and of a resource

	maxPartition = 2048
)

// ErrName marks an invalid name. The error states which rule the name breaks.
var ErrName = errors.New("invalid name")

// CheckName returns an error that wraps ErrName if a name is empty, longer than most bytes, not
// UTF-8, or has control characters. what is the noun for the error, such as "pool". All other
// characters are allowed, since keys escape their separators.
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

// CheckVisible returns an error that wraps ErrName if a name has an invisible character: a format
// character such as U+202E, a line separator, or a control character. Two names that differ only
// in such characters look alike. It permits U+200C and U+200D, which scripts and emoji need. Names
// that are created have to pass it; existing names need not.
func CheckVisible(what, name string) error {
	const nonJoiner, joiner = '\u200c', '\u200d'
	for _, r := range name {
		if r != nonJoiner && r != joiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return fmt.Errorf("%w: the %s has the invisible character %U: %.80s", ErrName, what, r, strconv.QuoteToASCII(name))
		}
	}
	return nil
}

// escape encodes the separator # and the escape character % of key components.
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

// CheckLease checks the names of a lease with CheckName, and their length as one partition key.
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
	if n := len(KeyPartition(client, pool, key)); n > maxPartition {
		return fmt.Errorf("%w: client, pool and key have %d bytes together, %d are allowed; each # and %% counts as three", ErrName, n,
			maxPartition)
	}
	return nil
}

// PrimaryKey is the primary key of an item: partition key and sort key.
type PrimaryKey struct{ Partition, Sort string }

// ResourcePartitions is the number of partition keys over which the resources of a client are
// spread.
const ResourcePartitions = 256

// ResourceRow returns the primary key of a resource row.
func ResourceRow(client, resource string) PrimaryKey {
	return PrimaryKey{ResourcePartition(client, int(xxhash.Sum64String(resource)%ResourcePartitions)), resource}
}

// ResourcePartition returns the nth partition key of a client's resource rows.
func ResourcePartition(client string, n int) string {
	return "R#" + escape(client) + "#" + strconv.Itoa(n)
}

// KeyPartition returns the partition key of a key's rows. The sort key of each row is its region.
func KeyPartition(client, pool, key string) string {
	return "K#" + escape(client) + "#" + escape(pool) + "#" + escape(key)
}

// ClientRow returns the primary key of a client's settings.
func ClientRow(client string) PrimaryKey { return PrimaryKey{"C", client} }

// PoolRow returns the primary key of a pool's settings.
func PoolRow(client, pool string) PrimaryKey {
	return PrimaryKey{"C#" + escape(client), "pool#" + pool}
}

// RegionRow returns the primary key of a region's settings.
func RegionRow(region string) PrimaryKey { return PrimaryKey{"G", region} }

// ImportRow returns the primary key of the progress of an import. id identifies the file.
func ImportRow(client, id string) PrimaryKey { return PrimaryKey{"I#" + escape(client), id} }

// DemandRow returns the primary key of the count of refused keys of a pool in a region.
func DemandRow(client, pool, region string) PrimaryKey {
	return PrimaryKey{"D#" + escape(client) + "#" + escape(pool), region}
}

// ParseDemandPartition returns the client and pool of a partition key of demand rows.
func ParseDemandPartition(partition string) (client, pool string, ok bool) {
	return poolOf(partition, "D")
}

// HeadroomRow returns the primary key of the headroom of a pool in a region.
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

// HeartbeatRow returns the primary key of a region's heartbeat.
func HeartbeatRow(region string) PrimaryKey { return PrimaryKey{"B", region} }

// WriteLeasePartition is the partition key of all write leases and of HomeRow.
const WriteLeasePartition = "L"

// WriteLeaseRow returns the primary key of the write lease of region that grantor renews. The row
// is written through the endpoint of grantor.
func WriteLeaseRow(region, by string) PrimaryKey {
	return PrimaryKey{WriteLeasePartition, escape(region) + "#" + escape(by)}
}

// ParseWriteLeaseSort returns the region and the grantor of a sort key. ok is false if it is
// another row's.
func ParseWriteLeaseSort(sort string) (region, by string, ok bool) {
	region, by, ok = strings.Cut(sort, "#")
	return unescape(region), unescape(by), ok && region != "" && by != "" && !strings.Contains(by, "#")
}

// HomeRow returns the primary key of the row that names the home region.
func HomeRow() PrimaryKey { return PrimaryKey{WriteLeasePartition, "home"} }

// Holder joins a pool and a key to the holder of a resource row. It contains the pool because a
// resource can change its pool while an old lease is still known.
func Holder(pool, key string) string { return escape(pool) + "#" + escape(key) }

// ParseHolder returns the pool and key of a Holder.
func ParseHolder(holder string) (pool, key string, ok bool) {
	pool, key, ok = strings.Cut(holder, "#")
	return unescape(pool), unescape(key), ok
}

// ParseKeyPartition returns the client, pool and key of a partition key of key rows.
func ParseKeyPartition(partition string) (client, pool, key string, ok bool) {
	parts := strings.Split(partition, "#")
	if len(parts) != 4 || parts[0] != "K" {
		return "", "", "", false
	}
	return unescape(parts[1]), unescape(parts[2]), unescape(parts[3]), true
}

// ParseResourcePartition returns the client of a partition key of resource rows. ok is false for
// other partitions.
func ParseResourcePartition(partition string) (client string, ok bool) {
	parts := strings.Split(partition, "#")
	if len(parts) != 3 || parts[0] != "R" {
		return "", false
	}
	if n, err := strconv.Atoi(parts[2]); err != nil || n < 0 || n >= ResourcePartitions || strconv.Itoa(n) != parts[2] {
		return "", false
	}
	return unescape(parts[1]), true
}

// ParsePoolRow returns the client and pool of the primary key of a pool's settings. ok is false for
// other rows.
func ParsePoolRow(p PrimaryKey) (client, pool string, ok bool) {
	parts := strings.Split(p.Partition, "#")
	pool, ok = strings.CutPrefix(p.Sort, "pool#")
	if len(parts) != 2 || parts[0] != "C" || !ok {
		return "", "", false
	}
	return unescape(parts[1]), pool, true
}

// Bucket returns the index partition n of a pool's available resources in a region. n is less than
// the pool's number of buckets.
func Bucket(client, pool, region string, n int) string {
	return escape(client) + "#" + escape(pool) + "#" + escape(region) + "#" + strconv.Itoa(n)
}
