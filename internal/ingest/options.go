package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // so that Asia/Shanghai is known on a machine without zone files

	"github.com/weirhq/weir/events"
)

// Formats that NewReader knows.
const (
	FormatIPinYou    = "ipinyou"    // the iPinYou log: 24 columns between tabs, or 27 with a click column
	FormatOpenBandit = "openbandit" // the Open Bandit dataset's CSV
	FormatCSV        = "csv"        // any table with a header, by Options.Map
	FormatJSONL      = "jsonl"      // an AdEvent by its proto field names on each line
)

// Formats lists the formats in the order in which a help text should name them.
func Formats() []string { return []string{FormatIPinYou, FormatOpenBandit, FormatCSV, FormatJSONL} }

// ErrUsage is wrapped by every error that comes of Options, or of Options that do not fit the input's header.
var ErrUsage = errors.New("ingest")

// DefaultMaxRowBytes is 1 MiB.
const DefaultMaxRowBytes = 1 << 20

// Options say how to read an input. Only Format is always needed.
type Options struct {
	// Format is one of Formats.
	Format string
	// Account is charged where the row names no account. Defaults to "ipinyou" and "openbandit" for these formats; csv
	// needs it or a column mapped to account.
	Account string
	// Currency is an ISO 4217 code for rows that name none. Defaults to CNY for ipinyou and JPY for openbandit; csv
	// needs it or a column mapped to currency.
	Currency string
	// TZ is the IANA zone of times that carry no zone, and of the budget day. Defaults to UTC, for ipinyou to
	// Asia/Shanghai. The times of an iPinYou log are in Asia/Shanghai whatever TZ says.
	TZ string
	// PriceUnit is the unit of the price column, Price and ClickPrice, as events.ParsePriceUnit reads it. Defaults to
	// micros; ipinyou has cpm-fen and no other.
	PriceUnit string
	// Price is a decimal number in PriceUnit for csv without a price column and for openbandit. Defaults to 0.
	Price string
	// ClickPrice is what a click that was derived from a row costs: csv and openbandit. Defaults to 0.
	ClickPrice string
	// DC is the serving datacentre of rows that name none. Defaults to none: the counting datacentre.
	DC string
	// Map gives the column of each field (csv): see Fields. Defaults to the columns that are named like fields.
	Map map[string]string
	// Delimiter separates columns (csv). Defaults to a comma.
	Delimiter byte
	// IDSpace is hashed into derived event ids, to tell apart files whose rows can be equal at equal places.
	// Defaults to none.
	IDSpace string
	// MaxRowBytes bounds a row; longer ones are rejected unread. Defaults to DefaultMaxRowBytes.
	MaxRowBytes int
}

// settings are Options in the form the parsers use.
type settings struct {
	Options
	loc, day          *time.Location // of times without a zone; of the budget day
	unit              events.PriceUnit
	price, clickPrice int64 // micros
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...))
}

func (o Options) settings() (*settings, error) {
	if !slices.Contains(Formats(), o.Format) {
		return nil, usage("unknown format %q: did you mean %q? There are %s", o.Format, nearest(o.Format, Formats()), strings.Join(Formats(), ", "))
	}
	s := &settings{Options: o}
	if err := s.checkFormat(); err != nil {
		return nil, err
	}
	s.defaults()
	return s, errors.Join(s.zones(), s.prices(), s.names())
}

// checkFormat refuses options that the format would ignore.
func (s *settings) checkFormat() error {
	csv, bandit := s.Format == FormatCSV, s.Format == FormatOpenBandit
	switch {
	case len(s.Map) > 0 && !csv:
		return usage("a column map is for csv: format %s knows its columns", s.Format)
	case s.Delimiter != 0 && !csv:
		return usage("a delimiter is for csv: format %s has its own", s.Format)
	case (s.Price != "" || s.ClickPrice != "") && !csv && !bandit:
		return usage("a fixed price is for csv and openbandit: the rows of %s carry theirs", s.Format)
	case s.PriceUnit != "" && s.PriceUnit != unitMicros && s.Format == FormatJSONL:
		return usage("price unit %s does not fit jsonl, whose field is price_micros: leave it away", s.PriceUnit)
	case s.PriceUnit != "" && s.PriceUnit != unitCPMFen && s.Format == FormatIPinYou:
		return usage("price unit %s does not fit ipinyou, whose payprice is cpm-fen: leave it away, or read the log by format csv", s.PriceUnit)
	case s.Delimiter == '"' || s.Delimiter == '\n' || s.Delimiter == '\r' || s.Delimiter >= 0x80:
		return usage("delimiter %q cannot separate columns: use a comma, a semicolon, a tab or the like", s.Delimiter)
	case s.MaxRowBytes < 0:
		return usage("a row of at most %d bytes is none: leave the limit at 0 for %d", s.MaxRowBytes, DefaultMaxRowBytes)
	}
	return nil
}

const (
	unitMicros = "micros"
	unitCPMFen = "cpm-fen"
)

func (s *settings) defaults() {
	orElse := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	switch s.Format {
	case FormatIPinYou:
		orElse(&s.Account, "ipinyou")
		orElse(&s.Currency, "CNY")
		orElse(&s.TZ, shanghai)
		orElse(&s.PriceUnit, unitCPMFen)
	case FormatOpenBandit:
		orElse(&s.Account, "openbandit")
		orElse(&s.Currency, "JPY")
	}
	orElse(&s.TZ, "UTC")
	orElse(&s.PriceUnit, unitMicros)
	if s.Delimiter == 0 {
		s.Delimiter = ','
	}
	if s.MaxRowBytes == 0 {
		s.MaxRowBytes = DefaultMaxRowBytes
	}
}
