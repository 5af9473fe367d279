package leasetable

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/internal/lease"
)

// Attributes of settings.
const (
	LongestMs    = "longest_lease_ms"
	QuarantineMs = "quarantine_ms"
	Shelves      = "sub_partitions"
)

// Pool is the settings of a pool.
type Pool struct {
	Client, Name string
	Version      int64
	Longest      time.Duration // of a lease
	Quarantine   time.Duration // after its end
	Shelves      int           // sub-partitions that a region's available resources are spread over
}

// Item is p's row.
func (p *Pool) Item() Item {
	item := PrimaryKey(lease.PoolRow(p.Client, p.Name))
	item[ClientID], item[PoolID], item[Version] = S(p.Client), S(p.Name), N(p.Version)
	item[LongestMs], item[QuarantineMs], item[Shelves] = N(p.Longest.Milliseconds()), N(p.Quarantine.Milliseconds()), N(int64(p.Shelves))
	return item
}

// PoolOf reads a pool's row.
func PoolOf(item Item) (Pool, error) {
	p := Pool{Client: Text(item, ClientID), Name: Text(item, PoolID)}
	var longest, quarantine, shelves int64
	for _, n := range []struct {
		name string
		to   *int64
		most int64
	}{
		{Version, &p.Version, 1 << 62},
		{LongestMs, &longest, int64(365 * 24 * time.Hour / time.Millisecond)},
		{QuarantineMs, &quarantine, int64(365 * 24 * time.Hour / time.Millisecond)},
		{Shelves, &shelves, 1000},
	} {
		v, err := Number(item, n.name)
		if err != nil {
			return p, err
		}
		if v < 1 || v > n.most {
			return p, fmt.Errorf("attribute %s is %d, not 1 to %d", n.name, v, n.most)
		}
		*n.to = v
	}
	p.Longest, p.Quarantine, p.Shelves = time.Duration(longest)*time.Millisecond, time.Duration(quarantine)*time.Millisecond, int(shelves)
	return p, nil
}

// Text is an attribute that is a string, or "".
func Text(item Item, name string) string {
	if s, ok := item[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
