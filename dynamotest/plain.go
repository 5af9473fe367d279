package dynamotest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/wire"
)

// decode reads the body of a request that is not about items. It returns an error for a parameter
// that into does not have.
func (c *call) decode(into any) error {
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch):
		return &wire.Error{
			Code: wire.Serialization, Message: strings.ToUpper(mismatch.Value) + "_VALUE cannot be converted to " + mismatch.Type.String(),
		}
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return wire.Unsupported("the parameter " + strings.Trim(name, `"`) + " of " + c.operation)
	}
	return &wire.Error{Code: wire.Serialization, Message: "the request is not JSON: " + err.Error()}
}

// encode returns the body of an answer that is not about items.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
