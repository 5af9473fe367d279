package item

import (
	"testing"

	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

func TestSmoke(t *testing.T) {
	for _, js := range []string{
		`{"b":{"S":"x\n\u00e9"},"a":{"N":"1.50e3"},"c":{"L":[{"M":{"z":{"BOOL":true},"y":{"NULL":true}}},{"NS":["3","-1","2e-3"]},{"BS":["AA==","aGVsbG8="]}]}}`,
		`{"b":{"SS":["x","x"]}}`, `{"b":{"S":5.5}}`, `{"b":{"X":5.5}}`, `{"b":{"S":"a","N":"12"}}`, `{"b":{"N":"1e126"}}`,
	} {
		var d Decoder
		s := jsonscan.New([]byte(js))
		it, err := d.Item(s)
		t.Log(it, err, s.End(), it.Size())
	}
}
