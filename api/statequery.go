package api

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/stream"
)

const (
	defaultPageKeys = 100
	maxKeyBytes     = 64 << 10 // of a key in a request
)

// keyQuery is a validated GetStateRequest.
type keyQuery struct {
	table        byte
	key          []byte
	partition    int32
	maxStaleness time.Duration
}

// scanQuery is a validated ScanStateRequest.
type scanQuery struct {
	table        byte
	from, to     []byte // to is the first key after the range; nil: no bound
	first, last  int32  // partitions
	limit        int
	maxStaleness time.Duration
}

// contains reports whether key is in the range.
func (q scanQuery) contains(key []byte) bool {
	return bytes.Compare(key, q.from) >= 0 && (q.to == nil || bytes.Compare(key, q.to) < 0)
}

// commonFields validates what requests for a key and for a range have in common: the table, and the
// maximum staleness of a standby.
func (i StateInfo) commonFields(m interface {
	GetTable() string
	GetMaxStalenessMs() int64
},
) (t stream.TableInfo, maxStaleness time.Duration, err error) {
	if t, err = i.table(m.GetTable()); err != nil {
		return t, 0, err
	}
	maxStaleness, err = staleness(m.GetMaxStalenessMs())
	return t, maxStaleness, err
}

func (i StateInfo) keyQuery(m *weirpb.GetStateRequest) (q keyQuery, err error) {
	t, maxStaleness, err := i.commonFields(m)
	if err != nil {
		return q, err
	}
	q.maxStaleness, q.table, q.key = maxStaleness, t.Number, m.GetKey()
	switch {
	case len(q.key) == 0:
		return q, invalid("the request has no key: set key, or scan the table")
	case len(q.key) > maxKeyBytes:
		return q, invalid("key has %d bytes, the maximum is %d: correct it", len(q.key), maxKeyBytes)
	case m.Partition != nil:
		q.partition = m.GetPartition()
		return q, i.checkPartition(q.partition)
	}
	known := false
	if t.Partition != nil {
		q.partition, known = t.Partition(q.key)
	}
	if !known {
		return q, invalid("the key does not determine which of the %d partitions of table %s has it: set partition, or scan all partitions",
			i.Partitions, t.Name)
	}
	return q, nil
}

func (i StateInfo) scanQuery(m *weirpb.ScanStateRequest) (q scanQuery, err error) {
	t, maxStaleness, err := i.commonFields(m)
	if err != nil {
		return q, err
	}
	for _, f := range []struct {
		name string
		key  []byte
	}{{"prefix", m.GetPrefix()}, {"start", m.GetStart()}, {"end", m.GetEnd()}} {
		if len(f.key) > maxKeyBytes {
			return q, invalid("%s has %d bytes, the maximum of a key is %d: correct it", f.name, len(f.key), maxKeyBytes)
		}
	}
	q.maxStaleness, q.table, q.from, q.last, q.limit = maxStaleness, t.Number, m.GetStart(), i.Partitions-1, int(m.GetLimit())
	if len(m.GetEnd()) > 0 {
		q.to = m.GetEnd()
	}
	if len(m.GetPrefix()) > 0 {
		if len(q.from) > 0 || q.to != nil {
			return q, invalid("the request has a prefix and a range: set prefix, or start and end")
		}
		q.from, q.to = m.GetPrefix(), stream.PrefixEnd(m.GetPrefix())
	}
	if q.to != nil && bytes.Compare(q.from, q.to) >= 0 {
		return q, invalid("the range is empty: start must be before end, and end is the first key that is not included")
	}
	if q.limit == 0 {
		q.limit = defaultPageKeys
	}
	if q.limit < 1 || q.limit > MaxPageKeys {
		return q, invalid("limit %d is out of range: use 1 to %d, and page_token for more", q.limit, MaxPageKeys)
	}
	if m.Partition != nil {
		q.first, q.last = m.GetPartition(), m.GetPartition()
		err = i.checkPartition(q.first)
	}
	return q, err
}

func (i StateInfo) checkPartition(p int32) error {
	if p < 0 || p >= i.Partitions {
		return invalid("partition %d does not exist: %s has partitions 0 to %d", p, i.App, i.Partitions-1)
	}
	return nil
}

// table finds a table by name or number. Table 0 belongs to the runtime and is not shown.
func (i StateInfo) table(name string) (stream.TableInfo, error) {
	number, err := strconv.ParseUint(name, 10, 8)
	for _, t := range i.Tables {
		if t.Name == name || err == nil && t.Number == byte(number) {
			return t, nil
		}
	}
	if err == nil && number > 0 {
		return stream.TableInfo{Number: byte(number), Name: name}, nil
	}
	var known []string
	for _, t := range i.Tables {
		known = append(known, fmt.Sprintf("%s (%d)", t.Name, t.Number))
	}
	return stream.TableInfo{}, invalid("%s has no table %.64q: use one of %s, or a number from 1 to 255", i.App, name,
		strings.Join(known, ", "))
}

func staleness(ms int64) (time.Duration, error) {
	if ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return 0, invalid("max_staleness_ms %d is out of range: use a time in milliseconds, or 0 to read from owners only", ms)
	}
	return time.Duration(ms) * time.Millisecond, nil
}
