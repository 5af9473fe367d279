package events

import (
	"encoding/binary"

	"github.com/weirhq/weir/events/eventspb"
)

// AppendEvent appends e's wire form to dst: the bytes of a deterministic proto.Marshal in a seventh of its time, for
// load generators. It checks nothing: a string that is not UTF-8 gives a record that no reader takes. Unknown fields of e
// are left out.
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

// appendString appends a string field, nothing if it is empty: so proto3 writes absence.
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

// appendNumber appends a varint field, nothing if it is zero. Negative numbers have been sign-extended to 64 bits.
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
