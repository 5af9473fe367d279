package spendcounter

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/weirhq/weir/events"
)

// keyTail is what follows the account in a spend key: day and currency.
const keyTail = 4 + 3

// AppendKey appends the key of table TableSpend: campaign 0x00 account 0x00 day (4 bytes, big endian) currency (3
// letters). No id holds a NUL byte, so the keys of one campaign are one range, and of one campaign and account too.
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

// CampaignPrefix is what all spend keys of a campaign begin with, and no other key.
func CampaignPrefix(campaign string) []byte { return append([]byte(campaign), 0) }

// ParseKey takes a spend key apart; campaign and account point into it.
func ParseKey(key []byte) (campaign, account []byte, day events.Day, currency events.Currency, err error) {
	bad := func() ([]byte, []byte, events.Day, events.Currency, error) {
		return nil, nil, 0, 0, fmt.Errorf("spend key %q: not campaign, account, day and currency: is it from another table?", key)
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

// HealthKey is the key of a SpendHistogram in spend.health: the writer's datacentre, a slash and the shard.
func HealthKey(dc string, shard int32) []byte {
	return strconv.AppendInt(append([]byte(dc), '/'), int64(shard), 10)
}

// badID says whether an id cannot be part of a key.
func badID(id []byte) bool { return len(id) > MaxIDBytes || bytes.IndexByte(id, 0) >= 0 }
