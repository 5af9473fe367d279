package events

import "github.com/weirhq/weir/events/eventspb"

// View is an AdEvent as the hot path sees it: no allocation, its byte slices point into the record's value.
type View struct {
	EventID, Account, Campaign, ServingDC []byte
	PriceMicros                           int64
	EventMs, IngestMs                     int64 // Unix ms; IngestMs 0 = absent
	BudgetDay                             int32 // YYYYMMDD; 0 = absent
	Currency                              Currency
	Type                                  eventspb.EventType
}

// Currency is an ISO 4217 code packed big-endian into the low 24 bits: 'C'<<16 | 'N'<<8 | 'Y'. Zero = absent.
type Currency uint32
