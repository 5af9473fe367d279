package ingest

import (
	"strings"
	"time"

	"github.com/weirhq/weir/events"
)

const shanghai = "Asia/Shanghai"

func (s *settings) zones() (err error) {
	if s.day, err = time.LoadLocation(s.TZ); err != nil || s.TZ == "Local" {
		return usage("time zone %q is not known: use an IANA name such as UTC, Asia/Shanghai or America/New_York", s.TZ)
	}
	s.loc = s.day
	if s.Format == FormatIPinYou {
		if s.loc, err = time.LoadLocation(shanghai); err != nil {
			return usage("time zone of the iPinYou log: %v", err)
		}
	}
	return nil
}

func (s *settings) prices() (err error) {
	if s.unit, err = events.ParsePriceUnit(s.PriceUnit); err != nil {
		return usage("%v", err)
	}
	if s.price, err = s.fixed("price", s.Price); err != nil {
		return err
	}
	s.clickPrice, err = s.fixed("click price", s.ClickPrice)
	return err
}

func (s *settings) fixed(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	micros, err := s.unit.Micros(text)
	if err != nil {
		return 0, usage("%s: %v", name, err)
	}
	return micros, nil
}

// names checks what is given for all rows, so that it fails once and not per row.
func (s *settings) names() error {
	if s.Currency != "" {
		if _, err := events.ParseCurrency(s.Currency); err != nil {
			return usage("%v", err)
		}
	}
	for name, value := range map[string]string{"account": s.Account, "datacentre": s.DC} {
		if err := checkID(name, []byte(value)); err != nil {
			return usage("%s", err.Detail)
		}
	}
	return nil
}

// ParseMap reads "field=column,field=column". Fields are checked by NewReader, which also knows the header.
func ParseMap(text string) (map[string]string, error) {
	m := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, column, ok := strings.Cut(strings.TrimSpace(pair), "=")
		name, column = strings.TrimSpace(name), strings.TrimSpace(column)
		switch _, twice := m[name]; {
		case !ok || name == "" || column == "":
			return nil, usage("column map %q: %q is not field=column", text, pair)
		case twice:
			return nil, usage("column map %q: field %s is given twice", text, name)
		}
		m[name] = column
	}
	return m, nil
}
