package backtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// jsonJob is a job of a file of JSON lines.
type jsonJob struct {
	AtMs     *int64   `json:"at_ms"`
	RunMs    *int64   `json:"run_ms"`
	Require  []string `json:"require,omitempty"`
	Prefer   []string `json:"prefer,omitempty"`
	Priority uint8    `json:"priority,omitempty"`
}

// parseJSON parses a JSON object. A field that is not known is an error, as it may be a misspelt
// one.
func parseJSON(line []byte) (x row, err error) {
	var j jsonJob
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		return x, plain(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return x, errors.New("more than one JSON object")
	}
	if j.AtMs == nil || j.RunMs == nil {
		return x, errors.New("at_ms or run_ms is missing")
	}
	return row{at: *j.AtMs, run: *j.RunMs, require: j.Require, prefer: j.Prefer, priority: j.Priority}, nil
}

// plain returns an error of package json without names of Go types.
func plain(err error) error {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		if t.Field == "" {
			return fmt.Errorf("not a JSON object: %s", t.Value)
		}
		return fmt.Errorf("%s has a value of type %s", t.Field, t.Value)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
