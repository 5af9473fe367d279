package ingest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
)

// The iPinYou log (Zhang, Yuan, Wang: Real-Time Bidding Benchmarking with iPinYou Dataset, 2014) has 24 columns between
// tabs and no header. A published preparation of it puts click, weekday and hour before them and a header on top.
const (
	rawColumns  = 24
	longColumns = 27
)

// ipinyou reads both forms. An impression costs payprice, which is per mille and in fen. Clicks and conversions cost
// nothing: they repeat the payprice of the impression that was paid for already.
type ipinyou struct {
	build  *builder
	header *ipinyouColumns // nil: by the number of columns
}

type ipinyouColumns struct {
	count, bid, time, logType, price, advertiser int
	click                                        int // -1: none
}

// newIPinYou looks at the first line: a header has the names of columns, and is no row.
func newIPinYou(in *rows, b *builder) (*ipinyou, error) {
	p := &ipinyou{build: b}
	names := firstNames(in)
	if !slices.Contains(names, "bidid") {
		return p, nil
	}
	c := &ipinyouColumns{count: len(names), click: slices.Index(names, "click")}
	for name, at := range map[string]*int{"bidid": &c.bid, "timestamp": &c.time, "logtype": &c.logType, "payprice": &c.price, "advertiser": &c.advertiser} {
		if *at = slices.Index(names, name); *at < 0 {
			return nil, usage("ipinyou: the header has no column %s: read the file by format csv and a column map", name)
		}
	}
	p.header = c
	_, err := in.header()
	return p, err
}

// firstNames splits the first line without consuming it. It has none where there is no such line: the input is empty,
// or cannot be read, which next will report.
func firstNames(in *rows) []string {
	n, err := in.in.peek(0)
	if err != nil {
		return nil
	}
	first := bytes.TrimPrefix(in.in.bytes(n), []byte(byteOrderMark))
	return strings.Split(strings.ToLower(string(trimEnd(first))), "\t")
}

// positions of the columns in the log as it was published, and behind the three that were put before them.
func (p *ipinyou) columns(n int) (ipinyouColumns, bool) {
	raw := ipinyouColumns{count: rawColumns, bid: 0, time: 1, logType: 2, price: 20, advertiser: 22, click: -1}
	switch {
	case p.header != nil:
		return *p.header, n == p.header.count
	case n == rawColumns:
		return raw, true
	case n == longColumns:
		const more = longColumns - rawColumns
		return ipinyouColumns{
			count: n, bid: raw.bid + more, time: raw.time + more, logType: raw.logType + more,
			price: raw.price + more, advertiser: raw.advertiser + more, click: 0,
		}, true
	}
	return raw, false
}

func (p *ipinyou) parse(row *rawRow, d *draft) (err *Rejection) {
	cols := row.fields
	c, ok := p.columns(len(cols))
	if !ok && p.header != nil {
		return reject(ReasonColumns, "the row has %d columns and the header %d", len(cols), c.count)
	}
	if !ok {
		return reject(ReasonColumns, "the row has %d columns: the iPinYou log has %d, or %d with a click column (logs of bids and of the first season have fewer)",
			len(cols), rawColumns, longColumns)
	}
	if d.kind, err = logType(cols[c.logType]); err != nil {
		return err
	}
	if d.eventMs, ok = parseCompact(cols[c.time], p.build.set.loc); !ok {
		return reject(ReasonTime, "%q is not a time of the form yyyyMMddHHmmssSSS", clip(cols[c.time]))
	}
	d.campaign, d.insertion = cols[c.advertiser], cols[c.bid]
	impression := d.kind == eventspb.EventType_EVENT_TYPE_IMPRESSION
	if c.click >= 0 {
		if d.click, err = parseClick(cols[c.click]); err != nil {
			return err
		}
		d.click = d.click && impression // a row of the click log is that click
	}
	if impression {
		d.price, err = p.build.price(cols[c.price])
	}
	return err
}

func logType(v []byte) (eventspb.EventType, *Rejection) {
	switch string(v) {
	case "1":
		return eventspb.EventType_EVENT_TYPE_IMPRESSION, nil
	case "2":
		return eventspb.EventType_EVENT_TYPE_CLICK, nil
	case "3":
		return eventspb.EventType_EVENT_TYPE_CONVERSION, nil
	}
	return 0, reject(ReasonUnknownType, "log type %q: the log has 1 (impression), 2 (click) and 3 (conversion)", clip(v))
}
