package ingest

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

var errOverflow = errors.New("overflow")

func parseCurrency(s string) error {
	if len(s) != 3 || s != strings.ToUpper(s) {
		return fmt.Errorf("currency %q", s)
	}
	for _, c := range s {
		if c < 'A' || c > 'Z' {
			return fmt.Errorf("currency %q", s)
		}
	}
	return nil
}

type priceUnit struct{ num, den int64 }

func parsePriceUnit(s string) (priceUnit, error) {
	switch s {
	case "micros":
		return priceUnit{1, 1}, nil
	case "cpm-fen":
		return priceUnit{10, 1}, nil
	case "units":
		return priceUnit{1000000, 1}, nil
	}
	return priceUnit{}, fmt.Errorf("price unit %q", s)
}

func (u priceUnit) Micros(dec string) (int64, error) {
	for _, c := range dec {
		if (c < '0' || c > '9') && c != '.' && c != '-' {
			return 0, fmt.Errorf("price %q: not a decimal number", dec)
		}
	}
	r, ok := new(big.Rat).SetString(dec)
	if !ok || len(dec) > 40 {
		return 0, fmt.Errorf("price %q: not a decimal number", dec)
	}
	r.Mul(r, big.NewRat(u.num, u.den))
	if !r.IsInt() {
		return 0, fmt.Errorf("price %q: finer than a micro", dec)
	}
	if !r.Num().IsInt64() {
		return 0, errOverflow
	}
	return r.Num().Int64(), nil
}

func parseEventType(s string) (eventspb.EventType, error) {
	if n, err := strconv.Atoi(s); err == nil {
		if _, ok := eventspb.EventType_name[int32(n)]; ok {
			return eventspb.EventType(n), nil
		}
	}
	if v, ok := eventspb.EventType_value[s]; ok {
		return eventspb.EventType(v), nil
	}
	if v, ok := eventspb.EventType_value["EVENT_TYPE_"+strings.ToUpper(s)]; ok && s == strings.ToLower(s) {
		return eventspb.EventType(v), nil
	}
	return 0, fmt.Errorf("type %q", s)
}

func dayOf(ms int64, loc *time.Location) int32 {
	y, m, d := time.UnixMilli(ms).In(loc).Date()
	return int32(y*10000 + int(m)*100 + d)
}

func shard(account string) int32 {
	var h uint32 = 2166136261
	for i := 0; i < len(account); i++ {
		h = (h ^ uint32(account[i])) * 16777619
	}
	return int32(h % 24)
}

func addMicros(a, b int64) int64 {
	if a > 1<<63-1-b {
		return 1<<63 - 1
	}
	return a + b
}
