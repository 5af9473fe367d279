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

// AppendKey appends the key of table TableSpend: account 0x00 campaign 0x00 day (4 bytes, big
// endian) currency (3 letters). Ids contain no NUL byte, so the keys of one account are one range,
// and so are the keys of one account and campaign.
func AppendKey(dst, account, campaign []byte, day events.Day, currency events.Currency) []byte {
	dst = append(dst, account...)
	dst = append(dst, 0)
	dst = append(dst, campaign...)
	dst = append(dst, 0)
	return appendTail(dst, day, currency)
}

func appendTail(dst []byte, day events.Day, currency events.Currency) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(day))
	return append(dst, byte(currency>>16), byte(currency>>8), byte(currency))
}

// AccountPrefix returns the prefix of all spend keys of an account. No other key has it.
func AccountPrefix(account string) []byte { return append([]byte(account), 0) }

// CampaignPrefix returns the prefix of all spend keys of a campaign of an account. No other key has
// it.
func CampaignPrefix(account, campaign string) []byte {
	return append(append(AccountPrefix(account), campaign...), 0)
}

// ParseKey splits a spend key. account and campaign point into it.
func ParseKey(key []byte) (account, campaign []byte, day events.Day, currency events.Currency, err error) {
	bad := func() ([]byte, []byte, events.Day, events.Currency, error) {
		return nil, nil, 0, 0, fmt.Errorf(
			"spend key %q: the key is not account, campaign, day and currency: does it belong to another table?", key)
	}
	account, rest, ok := bytes.Cut(key, []byte{0})
	if !ok || len(rest) < 1+keyTail {
		return bad()
	}
	campaign, tail := rest[:len(rest)-keyTail-1], rest[len(rest)-keyTail:]
	if rest[len(campaign)] != 0 || bytes.IndexByte(campaign, 0) >= 0 {
		return bad()
	}
	day = events.Day(binary.BigEndian.Uint32(tail))
	currency = events.Currency(tail[4])<<16 | events.Currency(tail[5])<<8 | events.Currency(tail[6])
	return account, campaign, day, currency, nil
}

// IndexPrefix returns the prefix of all keys of table TableCampaigns of a campaign. No other key
// has it.
func IndexPrefix(campaign string) []byte { return append([]byte(campaign), 0) }

// appendIndexKey appends the key of table TableCampaigns for a spend key: campaign 0x00 account.
func appendIndexKey(dst, key []byte) []byte {
	ids := key[:len(key)-keyTail-1]
	nul := bytes.IndexByte(ids, 0)
	dst = append(append(dst, ids[nul+1:]...), 0)
	return append(dst, ids[:nul]...)
}

// ParseIndexKey splits a key of table TableCampaigns. campaign and account point into it.
func ParseIndexKey(key []byte) (campaign, account []byte, err error) {
	campaign, account, ok := bytes.Cut(key, []byte{0})
	if !ok || bytes.IndexByte(account, 0) >= 0 {
		return nil, nil, fmt.Errorf("index key %q: the key is not campaign and account: does it belong to another table?", key)
	}
	return campaign, account, nil
}

// HealthKey returns the key of table TableHealth: the writer's datacentre, a slash and the shard.
func HealthKey(dc string, shard int32) []byte {
	return strconv.AppendInt(append([]byte(dc), '/'), int64(shard), 10)
}

// ParseHealthKey splits a key of table TableHealth.
func ParseHealthKey(key []byte) (dc string, shard int32, err error) {
	name, number, _ := bytes.Cut(key, []byte{'/'})
	dc = string(name)
	n, err := strconv.ParseInt(string(number), 10, 32)
	if err == nil {
		err = events.ValidateDC(dc)
	}
	if shard = int32(n); err != nil || shard < 0 || !bytes.Equal(HealthKey(dc, shard), key) {
		return "", 0, fmt.Errorf("health key %q: the key is not datacentre and shard: does it belong to another table?", key)
	}
	return dc, shard, nil
}

// badID reports whether an id is too long for a key, or contains a NUL byte.
func badID(id []byte) bool { return len(id) > MaxIDBytes || bytes.IndexByte(id, 0) >= 0 }
