package budget

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// node is a JSON value. encoding/json alone would keep the last of two fields with one name, and
// would report the first unknown field without its place.
type node struct {
	kind   string // "object", "array", "string", "number", "true or false", "null"
	text   string // of a string or number
	names  []string
	values []node // of an object, in the order of names; of an array
}

// maxDepth is the greatest depth of a document, with some room.
const maxDepth = 8

// parseJSON reads one JSON value.
func parseJSON(b []byte) (node, error) {
	if !utf8.Valid(b) {
		return node{}, errors.New("the document is not UTF-8: save it as UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	n, err := parseNode(d, 0)
	if err != nil {
		return node{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return node{}, fmt.Errorf("there is text after the document, at byte %d: write one document", d.InputOffset())
	}
	return n, nil
}

func parseNode(d *json.Decoder, depth int) (node, error) {
	t, err := d.Token()
	if err != nil {
		return node{}, syntaxError(d, err)
	}
	switch v := t.(type) {
	case string:
		return node{kind: "string", text: v}, nil
	case json.Number:
		return node{kind: "number", text: v.String()}, nil
	case bool:
		return node{kind: "true or false"}, nil
	case json.Delim:
		if depth == maxDepth {
			return node{}, fmt.Errorf("the document is nested more than %d deep, at byte %d", maxDepth, d.InputOffset())
		}
		return parseChildren(d, v, depth)
	}
	return node{kind: "null"}, nil
}

// parseChildren reads an object or array behind its first bracket.
func parseChildren(d *json.Decoder, bracket json.Delim, depth int) (node, error) {
	n := node{kind: "array"}
	if bracket == '{' {
		n.kind = "object"
	}
	for d.More() {
		if n.kind == "object" {
			t, err := d.Token()
			if err != nil {
				return node{}, syntaxError(d, err)
			}
			name, ok := t.(string)
			if !ok {
				return node{}, fmt.Errorf("a name is missing at byte %d", d.InputOffset())
			}
			n.names = append(n.names, name)
		}
		child, err := parseNode(d, depth+1)
		if err != nil {
			return node{}, err
		}
		n.values = append(n.values, child)
	}
	if _, err := d.Token(); err != nil { // the last bracket
		return node{}, syntaxError(d, err)
	}
	return n, nil
}

func syntaxError(d *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("not JSON: it ends early, at byte %d", d.InputOffset())
	}
	return fmt.Errorf("not JSON, at byte %d: %w", d.InputOffset(), err)
}
