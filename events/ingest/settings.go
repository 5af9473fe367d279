package ingest

import (
	"strings"
	"time"

	"github.com/weirhq/weir/events"
)

const shanghai = "Asia/Shanghai"

func (s *settings) loadZones() (err error) {
	if s.dayZone, err = time.LoadLocation(s.TZ); err != nil || s.TZ == "Local" {
		return usage("unknown time zone %q: use an IANA name such as UTC, Asia/Shanghai or America/New_York", s.TZ)
	}
	s.timeZone = s.dayZone
	if s.Format == FormatIPinYou {
		if s.timeZone, err = time.LoadLocation(shanghai); err != nil {
			return usage("time zone of the iPinYou log: %v", err)
		}
	}
	return nil
}

func (s *settings) parsePrices() (err error) {
	if s.PriceUnit == "" { // nothing has a price
		return nil
	}
	if s.unit, err = events.ParsePriceUnit(s.PriceUnit); err != nil {
		return usage("%v", err)
	}
	if s.priceMicros, err = s.fixedPrice("price", s.Price); err != nil {
		return err
	}
	s.clickPriceMicros, err = s.fixedPrice("click price", s.ClickPrice)
	return err
}

func (s *settings) fixedPrice(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	micros, err := s.unit.Micros(text)
	if err != nil {
		return 0, usage("%s: %v", name, err)
	}
	return micros, nil
}

// checkTexts checks the texts that are given for all rows, so that a bad one fails once and not per
// row.
func (s *settings) checkTexts() error {
	if s.Currency != "" {
		if _, err := events.ParseCurrency(s.Currency); err != nil {
			return usage("%v", err)
		}
	}
	for name, value := range map[string]string{"account": s.Account, "datacentre": s.DC} {
		if err := checkID(name, value); err != nil {
			return usage("%s", err.Detail)
		}
	}
	return nil
}

// ParseMap parses "field=column,field=column" to Options.Map. NewReader checks the fields, together
// with the header.
func ParseMap(text string) (map[string]string, error) {
	m := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, column, ok := strings.Cut(strings.TrimSpace(pair), "=")
		name, column = strings.TrimSpace(name), strings.TrimSpace(column)
		switch _, twice := m[name]; {
		case !ok || name == "" || column == "":
			return nil, usage("column map %q: %q is not of the form field=column", text, pair)
		case twice:
			return nil, usage("column map %q: field %s is given twice: leave one of them out", text, name)
		}
		m[name] = column
	}
	return m, nil
}
