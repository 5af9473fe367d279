package events

import "github.com/weirhq/weir/events/eventspb"

// View is an AdEvent as the hot path reads it. Its slices point into the record's value, so that no
// field is allocated. A field that is absent from the record is empty or zero.
type View struct {
	EventID, Account, Campaign, ServingDC []byte
	PriceMicros                           int64
	EventMs, IngestMs                     int64 // Unix milliseconds; IngestMs 0 = absent
	BudgetDay                             int32 // YYYYMMDD; 0 = absent
	Currency                              Currency
	Type                                  eventspb.EventType
	LineItem, Arm                         []byte
}

// Currency is an ISO 4217 code, packed big-endian into the low 24 bits: 'C'<<16 | 'N'<<8 | 'Y'.
// Zero means absent.
type Currency uint32
