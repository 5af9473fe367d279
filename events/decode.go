package events

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weirhq/weir/events/eventspb"
)

// Tags of AdEvent's fields on the wire: field number * 8 + wire type. Each fits in one byte.
const (
	tagEventID     = 1<<3 | uint64(protowire.BytesType)
	tagType        = 2<<3 | uint64(protowire.VarintType)
	tagAccount     = 3<<3 | uint64(protowire.BytesType)
	tagCampaign    = 4<<3 | uint64(protowire.BytesType)
	tagPriceMicros = 5<<3 | uint64(protowire.VarintType)
	tagCurrency    = 6<<3 | uint64(protowire.BytesType)
	tagBudgetDay   = 7<<3 | uint64(protowire.VarintType)
	tagEventMs     = 8<<3 | uint64(protowire.VarintType)
	tagIngestMs    = 9<<3 | uint64(protowire.VarintType)
	tagServingDC   = 10<<3 | uint64(protowire.BytesType)
	tagInsertionID = 11<<3 | uint64(protowire.BytesType)
	tagLineItem    = 12<<3 | uint64(protowire.BytesType)
	tagArm         = 13<<3 | uint64(protowire.BytesType)
)

// Decode sets v to the AdEvent in b. The slices of v point into b. Decode accepts the same bytes as
// proto.Unmarshal and reads the same values from them:
//
//   - the last value of a repeated field wins;
//   - an unknown field, and a known field with another wire type, is skipped;
//   - every string field of AdEvent must be UTF-8.
//
// A currency that is not three capital letters is not an error: it becomes CurrencyInvalid, so that
// the fold can name the reason. Decode allocates nothing. Its errors are DecodeErrors; after an
// error v is zero.
func (v *View) Decode(b []byte) error {
	*v = View{}
	for i := 0; i < len(b); {
		tag := uint64(b[i])
		i++
		if tag >= 0x80 { // a field number above 15, or a small tag in a longer encoding, which is legal
			if tag, i = uvarint(b, i-1); i < 0 {
				return v.fail(i)
			}
		}
		if !validNumber(tag) {
			return v.fail(malformed)
		}
		switch protowire.Type(tag & 7) {
		case protowire.BytesType:
			var n uint64
			if i < len(b) && b[i] < 0x80 {
				n = uint64(b[i])
				i++
			} else if n, i = uvarint(b, i); i < 0 {
				return v.fail(i)
			}
			if n > uint64(len(b)-i) {
				return v.fail(cut)
			}
			end := i + int(n)
			s := b[i:end:end]
			i = end
			switch tag {
			case tagEventID:
				v.EventID = s
			case tagAccount:
				v.Account = s
			case tagCampaign:
				v.Campaign = s
			case tagCurrency:
				if v.Currency = packCurrency(s); v.Currency != CurrencyInvalid {
					continue // capital letters are UTF-8
				}
			case tagServingDC:
				v.ServingDC = s
			case tagLineItem:
				v.LineItem = s
			case tagArm:
				v.Arm = s
			case tagInsertionID:
			default: // an unknown field may hold any bytes
				continue
			}
			if !isASCII(s) && !utf8.Valid(s) {
				return v.fail(notUTF8)
			}
		case protowire.VarintType:
			var x uint64
			if i+8 <= len(b) {
				// Eight bytes at once: the lowest byte with a clear top bit ends the varint.
				w := binary.LittleEndian.Uint64(b[i:])
				stop := ^w & highBits
				if stop == 0 { // nine or ten bytes: a negative or a huge number
					if x, i = uvarint(b, i); i < 0 {
						return v.fail(i)
					}
				} else {
					i += bits.TrailingZeros64(stop)>>3 + 1
					x = packSevenBits(w & (stop ^ (stop - 1)))
				}
			} else if x, i = uvarint(b, i); i < 0 {
				return v.fail(i)
			}
			v.setNumber(tag, x)
		default:
			if i = skip(b, i, tag); i < 0 {
				return v.fail(i)
			}
		}
	}
	return nil
}

func (v *View) setNumber(tag, x uint64) {
	switch tag {
	case tagType:
		v.Type = eventspb.EventType(x)
	case tagPriceMicros:
		v.PriceMicros = int64(x)
	case tagBudgetDay:
		v.BudgetDay = int32(x)
	case tagEventMs:
		v.EventMs = int64(x)
	case tagIngestMs:
		v.IngestMs = int64(x)
	}
}
