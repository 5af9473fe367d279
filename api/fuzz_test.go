package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"unicode/utf8"
)

// FuzzGetSpendJSON sends any body as a request. The answer is always JSON with a code that a caller
// can cause, and nothing panics. Only the one campaign that exists has a figure.
func FuzzGetSpendJSON(f *testing.F) {
	for _, seed := range []string{
		`{"campaign":"c1"}`, `{"campaign":"c1","day":"2013-10-19"}`, `{"campaign":"c1","day":"0000-00-00"}`,
		`{"campaign":"c1","currency":"CNY","account":"a1"}`, `{"campaign":"c9"}`, `{}`, ``, `null`, `[]`, `{"campaign":1}`,
		`{"campaign":"\ud800"}`, "{\"campaign\":\"\xff\"}", `{"campaign":"\u0000"}`, `{"campaign":"c1","day":"+999-01-01"}`,
		`{"campaign":"c1","campaign":"c1"}`, `{"campaign":"c1","wait":true}`, `{"campaign":"c1","x":{"y":[1e999]}}`,
	} {
		f.Add([]byte(seed))
	}
	h := mustNew(f, config()).dataHandler()
	f.Fuzz(func(t *testing.T, body []byte) {
		status, answer := post(t, h, getSpend, string(body))
		var got struct{ Code, Message, Campaign string }
		if err := json.Unmarshal([]byte(answer), &got); err != nil || !utf8.ValidString(answer) {
			t.Fatalf("%d %q: %v", status, answer, err)
		}
		if status == http.StatusOK {
			if got.Campaign != "c1" {
				t.Fatalf("a figure for request %q: %s", body, answer)
			}
			return
		}
		// A panic would be internal.
		if !slices.Contains([]string{"invalid_argument", "not_found", "resource_exhausted"}, got.Code) || got.Message == "" {
			t.Fatalf("%q got %d %s", body, status, answer)
		}
	})
}
