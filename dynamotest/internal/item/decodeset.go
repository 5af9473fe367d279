package item

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

// set reads the elements of a set.
func (d *Decoder) set(s *jsonscan.Scanner, kind Kind) error {
	if !s.Enter('[') {
		return listShape(s)
	}
	base := len(d.spans)
	for s.Next(']') {
		start := len(d.enc)
		if err := d.scalar(s, kind.Element()); err != nil {
			return err
		}
		if len(d.enc) == start {
			continue // the element is not valid
		}
		length := start + 1
		for d.enc[length] >= 0x80 {
			length++
		}
		d.spans = append(d.spans, span{start, len(d.enc), length + 1, len(d.enc)})
	}
	if s.Err() != nil {
		return s.Err()
	}
	n := len(d.spans) - base
	if n == 0 {
		d.refuse(emptySet(kind))
	}
	if !d.arrange(base) {
		d.refuse(d.duplicates(base, kind))
	}
	d.spans = d.spans[:base]
	return nil
}

func emptySet(kind Kind) *Error {
	switch kind {
	case SS:
		return invalidParameter("An string set  may not be empty")
	case NS:
		return invalidParameter("An number set  may not be empty")
	default:
		return invalidParameter("Binary sets should not be empty")
	}
}

// duplicates returns the error about the set whose elements begin at span base.
func (d *Decoder) duplicates(base int, kind Kind) *Error {
	if kind == NS {
		return Invalid("Input collection contains duplicates")
	}
	var texts []string
	for _, sp := range d.spans[base:] {
		text := string(d.enc[sp.key:sp.keyEnd])
		if kind == BS {
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		texts = append(texts, text)
	}
	list := "Input collection [" + strings.Join(texts, ", ") + "]"
	if kind == BS {
		return invalidParameter(list + "of type BS contains duplicates.")
	}
	return invalidParameter(list + " contains duplicates.")
}

// arrange sorts the attributes or elements of the spans from base on. If two are equal it changes
// nothing and returns false.
func (d *Decoder) arrange(base int) bool {
	spans := d.spans[base:]
	if d.ascending(spans) {
		return true
	}
	first := spans[0].start
	slices.SortFunc(spans, d.compare)
	for i := 1; i < len(spans); i++ {
		if d.compare(spans[i-1], spans[i]) == 0 {
			slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
			return false
		}
	}
	d.sorted = d.sorted[:0]
	for _, sp := range spans {
		d.sorted = append(d.sorted, d.enc[sp.start:sp.end]...)
	}
	copy(d.enc[first:], d.sorted)
	return true
}

// dropEarlier sorts the attributes of the spans from base on. Of several attributes with one name
// it keeps the last.
func (d *Decoder) dropEarlier(base int) {
	spans := d.spans[base:]
	first := spans[0].start
	slices.SortStableFunc(spans, d.compare)
	d.sorted = d.sorted[:0]
	for i, sp := range spans {
		if i+1 == len(spans) || d.compare(sp, spans[i+1]) != 0 {
			d.sorted = append(d.sorted, d.enc[sp.start:sp.end]...)
		}
	}
	d.enc = append(d.enc[:first], d.sorted...)
}

func (d *Decoder) ascending(spans []span) bool {
	for i := 1; i < len(spans); i++ {
		if d.compare(spans[i-1], spans[i]) >= 0 {
			return false
		}
	}
	return true
}

func (d *Decoder) compare(a, b span) int {
	return bytes.Compare(d.enc[a.key:a.keyEnd], d.enc[b.key:b.keyEnd])
}
