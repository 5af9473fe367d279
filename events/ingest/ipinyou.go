package ingest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// The iPinYou log (Zhang, Yuan, Wang, Shen: Real-Time Bidding Benchmarking with iPinYou Dataset,
// 2014) has 24 columns between tabs and no header. A published preparation of the log adds a
// header, and the columns click, weekday and hour before the others.
const (
	logColumns      = 24
	preparedColumns = 27
)

// ipinyouParser parses both forms. An impression costs payprice, which is a CPM in fen. Clicks and
// conversions cost nothing: their rows repeat the payprice of the impression, which was charged
// already.
type ipinyouParser struct {
	builder *builder
	header  *ipinyouColumns // nil without a header: the number of columns decides
}

// ipinyouColumns holds the indexes of the columns that an event needs.
type ipinyouColumns struct {
	count, bid, time, logType, price, advertiser int
	click                                        int // -1 without one
}

// newIPinYouParser looks at the first line and consumes it if it is a header.
func newIPinYouParser(in *rowReader, b *builder) (*ipinyouParser, error) {
	p := &ipinyouParser{builder: b}
	names := firstLine(in)
	if !slices.Contains(names, "bidid") {
		return p, nil
	}
	c := &ipinyouColumns{count: len(names), click: slices.Index(names, "click")}
	for name, at := range map[string]*int{
		"bidid": &c.bid, "timestamp": &c.time, "logtype": &c.logType, "payprice": &c.price, "advertiser": &c.advertiser,
	} {
		if *at = slices.Index(names, name); *at < 0 {
			return nil, usage("ipinyou: the header has no column %s: read the file by format csv and a column map", name)
		}
	}
	p.header = c
	_, err := in.header()
	return p, err
}

// firstLine returns the columns of the first line in lower case without consuming the line. It
// returns none if the input is empty or cannot be read; rowReader.next reports the error.
func firstLine(in *rowReader) []string {
	n, err := in.in.peek(0)
	if err != nil {
		return nil
	}
	line := bytes.TrimPrefix(in.in.bytes(n), []byte(byteOrderMark))
	return strings.Split(strings.ToLower(string(trimLineEnd(line))), "\t")
}

// columns returns the indexes for a row of n columns, and false if no such row exists.
func (p *ipinyouParser) columns(n int) (ipinyouColumns, bool) {
	log := ipinyouColumns{count: logColumns, bid: 0, time: 1, logType: 2, price: 20, advertiser: 22, click: -1}
	switch {
	case p.header != nil:
		return *p.header, n == p.header.count
	case n == logColumns:
		return log, true
	case n == preparedColumns:
		const more = preparedColumns - logColumns
		return ipinyouColumns{
			count: n, bid: log.bid + more, time: log.time + more, logType: log.logType + more,
			price: log.price + more, advertiser: log.advertiser + more, click: 0,
		}, true
	}
	return log, false
}

func (p *ipinyouParser) parse(row *rawRow, d *draft) (err *stream.RejectError) {
	values := row.columns
	c, ok := p.columns(len(values))
	if !ok && p.header != nil {
		return reject(ReasonColumns, "the row has %d columns and the header %d", len(values), c.count)
	}
	if !ok {
		return reject(ReasonColumns,
			"the row has %d columns: an iPinYou log has %d, or %d with a click column (logs of bids and of the first season have fewer)",
			len(values), logColumns, preparedColumns)
	}
	if d.eventType, err = parseLogType(values[c.logType]); err != nil {
		return err
	}
	if d.eventMs, ok = parseCompact(values[c.time], p.builder.set.timeZone); !ok {
		return reject(ReasonTime, "%q is not a time of the form yyyyMMddHHmmssSSS", clip(values[c.time]))
	}
	d.campaign, d.insertionID = values[c.advertiser], values[c.bid]
	impression := d.eventType == eventspb.EventType_EVENT_TYPE_IMPRESSION
	if c.click >= 0 {
		if d.clicked, err = parseClick(values[c.click]); err != nil {
			return err
		}
		d.clicked = d.clicked && impression // a row of the click log is itself the click
	}
	if impression {
		d.priceMicros, err = p.builder.price(values[c.price])
	}
	return err
}

func parseLogType(v string) (eventspb.EventType, *stream.RejectError) {
	switch v {
	case "1":
		return eventspb.EventType_EVENT_TYPE_IMPRESSION, nil
	case "2":
		return eventspb.EventType_EVENT_TYPE_CLICK, nil
	case "3":
		return eventspb.EventType_EVENT_TYPE_CONVERSION, nil
	}
	return 0, reject(ReasonUnknownType, "log type %q: the types are 1 (impression), 2 (click) and 3 (conversion)", clip(v))
}
