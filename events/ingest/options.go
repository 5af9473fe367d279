package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for machines without zone files

	"github.com/weirhq/weir/events"
)

// Formats that NewReader reads.
const (
	FormatIPinYou    = "ipinyou"    // the iPinYou log: 24 columns between tabs, or 27
	FormatOpenBandit = "openbandit" // the CSV of the Open Bandit dataset
	FormatCSV        = "csv"        // any CSV with a header, by Options.Map
	FormatJSONL      = "jsonl"      // one JSON object per line, with the field names of AdEvent
)

// Formats returns the formats in the order for help texts.
func Formats() []string { return []string{FormatIPinYou, FormatOpenBandit, FormatCSV, FormatJSONL} }

// ErrNoPriceUnit is wrapped, beside ErrUsage, by the error about prices without Options.PriceUnit.
var ErrNoPriceUnit = errors.New("price unit missing")

// ErrUsage is wrapped by every error about Options, or about Options that do not fit the header of
// the input.
var ErrUsage = errors.New("ingest")

// DefaultMaxRowBytes is the default of Options.MaxRowBytes: 1 MiB.
const DefaultMaxRowBytes = 1 << 20

// Options describe an input. Only Format is always required.
type Options struct {
	// Format is one of Formats.
	Format string
	// Account is charged by rows that name no account. Format csv requires it or a column mapped to
	// account. Defaults to the format's name for ipinyou and openbandit.
	Account string
	// Currency is the ISO 4217 code of rows that name no currency. Format csv requires it or a
	// column mapped to currency. Defaults to CNY for ipinyou and JPY for openbandit.
	Currency string
	// TZ is the IANA zone of times without a zone, and of the budget day. The times of an iPinYou
	// log are in Asia/Shanghai, whatever TZ is. Defaults to UTC, for ipinyou to Asia/Shanghai.
	TZ string
	// PriceUnit is the unit of the price column, Price and ClickPrice: a name for
	// events.ParsePriceUnit. Formats csv and openbandit require it if they have any price, because
	// a wrong guess is wrong by a factor. Defaults to the only unit of the other formats: micros
	// for jsonl, cpm-fen for ipinyou.
	PriceUnit string
	// Price is the price of an impression, a decimal number in PriceUnit, for openbandit and for
	// csv without a price column. Defaults to 0.
	Price string
	// ClickPrice is the price of a click that a row reports together with its impression, a decimal
	// number in PriceUnit, for openbandit and csv. Defaults to 0.
	ClickPrice string
	// DC is the serving datacentre of rows that name none. Defaults to the datacentre that counts
	// the events.
	DC string
	// Map maps fields to columns of a csv: see Fields. Defaults to the columns whose names are
	// those of fields.
	Map map[string]string
	// Delimiter separates the columns of a csv. Defaults to a comma.
	Delimiter byte
	// Decimal is the decimal mark of prices in a csv: a point or a comma. With a comma, a point
	// in a price is refused. Defaults to a point.
	Decimal byte
	// TimeFormat is the format of the time column of a csv: that of strftime if it contains a
	// percent sign (%d/%m/%Y %H:%M), else that of Go (02/01/2006 15:04). Defaults to the formats
	// that Fields lists.
	TimeFormat string
	// IDSpace is hashed into derived event ids. It distinguishes the rows of two files that are
	// equal. Defaults to none.
	IDSpace string
	// Now is the time of this computer. A row that is more than 5 minutes later is rejected. Two
	// readers of one input with the same Now reject the same rows. Defaults to the time of
	// NewReader.
	Now time.Time
	// Only returns whether a row may be one of those that are wanted, by the line that it is.
	// Others are neither parsed nor returned. Rows of several lines, and lines with an odd number
	// of quotes in a csv, are returned without it. Event ids that are derived from rows need all
	// rows of the input. Defaults to all rows.
	Only func(line []byte) bool
	// MaxRowBytes is the greatest length of a row. Longer rows are rejected without being buffered.
	// Defaults to DefaultMaxRowBytes.
	MaxRowBytes int
}

// settings are Options with their defaults, parsed.
type settings struct {
	Options
	timeZone, dayZone             *time.Location // of times without a zone; of the budget day
	timeLayout                    string         // Go layout; "" without TimeFormat
	unit                          events.PriceUnit
	priceMicros, clickPriceMicros int64
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, args...))
}

func (o Options) settings() (*settings, error) {
	if !slices.Contains(Formats(), o.Format) {
		return nil, usage("unknown format %q%s The formats are %s", o.Format, sentence(didYouMean(o.Format, Formats())),
			strings.Join(Formats(), ", "))
	}
	s := &settings{Options: o}
	if err := s.checkFormat(); err != nil {
		return nil, err
	}
	s.setDefaults()
	return s, errors.Join(s.loadZones(), s.parseTimeFormat(), s.parsePrices(), s.checkTexts())
}

// checkFormat refuses options that the format would ignore.
func (s *settings) checkFormat() error {
	csv, bandit := s.Format == FormatCSV, s.Format == FormatOpenBandit
	switch {
	case len(s.Map) > 0 && !csv:
		return usage("a column map is for format csv only: leave it out, because format %s has fixed columns", s.Format)
	case s.Delimiter != 0 && !csv:
		return usage("a delimiter is for format csv only: leave it out, because format %s has a fixed one", s.Format)
	case (s.Price != "" || s.ClickPrice != "") && !csv && !bandit:
		return usage("a fixed price is for formats csv and openbandit only: leave it out, because the rows of %s carry prices", s.Format)
	case s.PriceUnit != "" && s.PriceUnit != unitMicros && s.Format == FormatJSONL:
		return usage("price unit %s does not fit format jsonl, whose field is price_micros: leave the unit out", s.PriceUnit)
	case s.PriceUnit != "" && s.PriceUnit != unitCPMFen && s.Format == FormatIPinYou:
		return usage(
			"price unit %s does not fit format ipinyou, whose payprice is in cpm-fen: leave the unit out, or read the log by format csv",
			s.PriceUnit)
	case s.Delimiter == '"' || s.Delimiter == '\n' || s.Delimiter == '\r' || s.Delimiter >= 0x80:
		return usage("delimiter %q cannot separate columns: use a single ASCII character such as a comma, a semicolon or a tab",
			s.Delimiter)
	case s.Decimal != 0 && s.Decimal != '.' && s.Decimal != ',':
		return usage("decimal mark %q: it is a point or a comma", s.Decimal)
	case (s.Decimal != 0 || s.TimeFormat != "") && !csv:
		return usage("a decimal mark and a time format are for format csv only: leave them out, because format %s has fixed ones", s.Format)
	case (s.Price != "" || s.ClickPrice != "") && s.PriceUnit == "":
		return noPriceUnit("the fixed price")
	case s.MaxRowBytes < 0:
		return usage("a row limit of %d bytes is negative: give a positive one, or 0 for %d", s.MaxRowBytes, DefaultMaxRowBytes)
	}
	return nil
}

// noPriceUnit returns the error about a price without a unit.
func noPriceUnit(of string) error {
	return fmt.Errorf("%w: %w: the unit of %s has to be named, because 1 can be 1.00 USD or 0.000001 USD: %s",
		ErrUsage, ErrNoPriceUnit, of, PriceUnits())
}

// PriceUnits returns the values of Options.PriceUnit and their meanings.
func PriceUnits() string {
	return "major (1 is 1.00 USD), cent or fen (0.01 USD), micros (0.000001 USD), " +
		"cpm (1.00 USD for a thousand events), cpm-cent or cpm-fen, cpm-micros"
}

const (
	unitMicros = "micros"
	unitCPMFen = "cpm-fen"
)

func (s *settings) setDefaults() {
	setDefault := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	switch s.Format {
	case FormatIPinYou:
		setDefault(&s.Account, "ipinyou")
		setDefault(&s.Currency, "CNY")
		setDefault(&s.TZ, shanghai)
		setDefault(&s.PriceUnit, unitCPMFen)
	case FormatOpenBandit:
		setDefault(&s.Account, "openbandit")
		setDefault(&s.Currency, "JPY")
	}
	setDefault(&s.TZ, "UTC")
	if s.Format == FormatJSONL {
		setDefault(&s.PriceUnit, unitMicros)
	}
	if s.Delimiter == 0 {
		s.Delimiter = ','
	}
	if s.Now.IsZero() {
		s.Now = time.Now()
	}
	if s.MaxRowBytes == 0 {
		s.MaxRowBytes = DefaultMaxRowBytes
	}
}
