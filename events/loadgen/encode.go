package loadgen

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Field numbers of AdEvent. TestEncodingIsTheGeneratedOne compares the encoding with that of the
// generated code.
const (
	numEventID     protowire.Number = 1
	numType        protowire.Number = 2
	numAccount     protowire.Number = 3
	numCampaign    protowire.Number = 4
	numPrice       protowire.Number = 5
	numCurrency    protowire.Number = 6
	numBudgetDay   protowire.Number = 7
	numEventMs     protowire.Number = 8
	numIngestMs    protowire.Number = 9
	numServingDC   protowire.Number = 10
	numInsertionID protowire.Number = 11
)

// appendEvent appends e as an AdEvent in canonical form: fields in the order of their numbers,
// without zero values.
func (g *Generator) appendEvent(dst []byte, e *event) []byte {
	c := &g.campaigns[e.campaign]
	dst = g.appendID(dst, numEventID, e.id)
	dst = appendInt(dst, numType, int64(e.eventType))
	dst = append(dst, c.encodedNames()...)
	dst = appendInt(dst, numPrice, e.priceMicros)
	dst = append(dst, g.currencies[c.currency]...)
	dst = appendInt(dst, numBudgetDay, int64(events.UTCDay(e.eventMs)))
	dst = appendInt(dst, numEventMs, e.eventMs)
	dst = appendInt(dst, numIngestMs, e.ingestMs)
	dst = append(dst, g.dc...)
	if e.insertionID != 0 {
		dst = g.appendID(dst, numInsertionID, e.insertionID)
	}
	return dst
}

// message returns e as the generated type.
func (g *Generator) message(e *event) *eventspb.AdEvent {
	c, m := &g.campaigns[e.campaign], &g.current
	m.Reset()
	m.EventId = string(g.idText(nil, e.id))
	m.Type = e.eventType
	m.Account, m.Campaign, m.Currency = string(g.accounts[c.account]), c.name(), g.cfg.Currencies[c.currency]
	m.PriceMicros, m.BudgetDay, m.EventMs, m.IngestMs = e.priceMicros, int32(events.UTCDay(e.eventMs)), e.eventMs, e.ingestMs
	m.ServingDc = g.cfg.DC
	if e.insertionID != 0 {
		m.InsertionId = string(g.idText(nil, e.insertionID))
	}
	return m
}

const (
	idAlphabet = "0123456789abcdefghijklmnopqrstuv"
	idDigits   = 8 // base 32: 2^40 events per generator
)

// idText appends the id of event n: start time, seed and n.
func (g *Generator) idText(dst []byte, n uint64) []byte {
	dst = append(dst, g.idPrefix...)
	for shift := 5 * (idDigits - 1); shift >= 0; shift -= 5 {
		dst = append(dst, idAlphabet[n>>shift&31])
	}
	return dst
}

func (g *Generator) appendID(dst []byte, num protowire.Number, n uint64) []byte {
	dst = append(dst, byte(num)<<3|byte(protowire.BytesType), byte(len(g.idPrefix)+idDigits))
	return g.idText(dst, n)
}

func appendInt(dst []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(append(dst, byte(num)<<3|byte(protowire.VarintType)), uint64(v))
}

func appendText(dst []byte, num protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), v)
}
