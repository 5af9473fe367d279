package spendcounter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/weirhq/weir/events"
)

// keyTail is the size of day and currency, which follow the account in a spend key.
const keyTail = 4 + 3

// AppendKey appends the key of table TableSpend: campaign 0x00 account 0x00 day (4 bytes, big
// endian) currency (3 letters). Ids contain no NUL byte, so the keys of one campaign are one range,
// and so are the keys of one campaign and account.
func AppendKey(dst, campaign, account []byte, day events.Day, currency events.Currency) []byte {
	dst = append(dst, campaign...)
	dst = append(dst, 0)
	dst = append(dst, account...)
	dst = append(dst, 0)
	return appendTail(dst, day, currency)
}

func appendTail(dst []byte, day events.Day, currency events.Currency) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(day))
	return append(dst, byte(currency>>16), byte(currency>>8), byte(currency))
}

// CampaignPrefix returns the prefix of all spend keys of a campaign. No other key has it.
func CampaignPrefix(campaign string) []byte { return append([]byte(campaign), 0) }

// ParseKey splits a spend key. campaign and account point into it.
func ParseKey(key []byte) (campaign, account []byte, day events.Day, currency events.Currency, err error) {
	bad := func() ([]byte, []byte, events.Day, events.Currency, error) {
		return nil, nil, 0, 0, fmt.Errorf("spend key %q: the key is not campaign, account, day and currency: does it belong to another table?", key)
	}
	campaign, rest, ok := bytes.Cut(key, []byte{0})
	if !ok || len(rest) < 1+keyTail {
		return bad()
	}
	account, tail := rest[:len(rest)-keyTail-1], rest[len(rest)-keyTail:]
	if rest[len(account)] != 0 || bytes.IndexByte(account, 0) >= 0 {
		return bad()
	}
	day = events.Day(binary.BigEndian.Uint32(tail))
	currency = events.Currency(tail[4])<<16 | events.Currency(tail[5])<<8 | events.Currency(tail[6])
	return campaign, account, day, currency, nil
}

// HealthKey returns the key of a SpendHistogram in spend.health: the writer's datacentre, a slash
// and the shard.
func HealthKey(dc string, shard int32) []byte {
	return strconv.AppendInt(append([]byte(dc), '/'), int64(shard), 10)
}

// badID reports whether an id is too long for a key, or contains a NUL byte.
func badID(id []byte) bool { return len(id) > MaxIDBytes || bytes.IndexByte(id, 0) >= 0 }
