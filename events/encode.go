package events

import (
	"encoding/binary"

	"github.com/weirhq/weir/events/eventspb"
)

// AppendEvent appends the wire form of e to dst: the same bytes as a deterministic proto.Marshal,
// in a seventh of the time. Load generators use it. It validates nothing: with a string that is not
// UTF-8 it writes a record that Decode rejects. It leaves out the unknown fields of e.
func AppendEvent(dst []byte, e *eventspb.AdEvent) []byte {
	dst = appendString(dst, tagEventID, e.EventId)
	dst = appendNumber(dst, tagType, uint64(e.Type))
	dst = appendString(dst, tagAccount, e.Account)
	dst = appendString(dst, tagCampaign, e.Campaign)
	dst = appendNumber(dst, tagPriceMicros, uint64(e.PriceMicros))
	dst = appendString(dst, tagCurrency, e.Currency)
	dst = appendNumber(dst, tagBudgetDay, uint64(e.BudgetDay))
	dst = appendNumber(dst, tagEventMs, uint64(e.EventMs))
	dst = appendNumber(dst, tagIngestMs, uint64(e.IngestMs))
	dst = appendString(dst, tagServingDC, e.ServingDc)
	dst = appendString(dst, tagInsertionID, e.InsertionId)
	dst = appendString(dst, tagLineItem, e.LineItem)
	return appendString(dst, tagArm, e.Arm)
}

// appendString appends a string field. It appends nothing for an empty string, as proto3 does.
func appendString(dst []byte, tag uint64, s string) []byte {
	if s == "" {
		return dst
	}
	dst = append(dst, byte(tag))
	if len(s) < 0x80 {
		dst = append(dst, byte(len(s)))
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
	}
	return append(dst, s...)
}

// appendNumber appends a varint field. It appends nothing for zero, as proto3 does. The caller has
// sign-extended negative numbers to 64 bits.
func appendNumber(dst []byte, tag, x uint64) []byte {
	if x == 0 {
		return dst
	}
	dst = append(dst, byte(tag))
	for x >= 0x80 {
		dst = append(dst, byte(x)|0x80)
		x >>= 7
	}
	return append(dst, byte(x))
}
