package jsonscan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/dynamotest/internal/jsonscan"
)

func TestWalk(t *testing.T) {
	s := jsonscan.New([]byte(` {"name" : "x\ty", "list":[1, -2.5e3, true, false ,null, {"a":[]}],"skip":{"b":["c",{}]},"last":"\ud83d\ude42"} `))
	var got []string
	if s.Enter('[') || !s.Enter('{') {
		t.Fatal("no object")
	}
	for s.Next('}') {
		key := string(s.Key())
		got = append(got, key)
		switch key {
		case "list":
			s.Enter('[')
			for s.Next(']') {
				c := s.Peek()
				got = append(got, string(c))
				switch c {
				case '0':
					got = append(got, string(s.Number()))
				case 't', 'f':
					got = append(got, map[bool]string{true: "yes", false: "no"}[s.Bool()])
				default:
					s.Skip()
				}
			}
		case "skip":
			s.Skip()
		default:
			got = append(got, string(s.Text()))
		}
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	const want = `name|x	y|list|0|1|0|-2.5e3|t|yes|f|no|n|{|skip|last|🙂`
	if out := strings.Join(got, "|"); out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

func TestTheFirstErrorStays(t *testing.T) {
	s := jsonscan.New([]byte(`{"a":1,"b":2}`))
	s.Enter('{')
	s.Next('}')
	s.Key()
	if s.Text() != nil {
		t.Error("Text accepted a number")
	}
	first := s.Err()
	if s.Next('}') || s.Enter('{') || s.Key() != nil || s.Number() != nil || s.Peek() != 0 || s.Bool() {
		t.Error("the scanner continued after an error")
	}
	if s.Skip(); !errors.Is(s.End(), jsonscan.ErrSyntax) || s.End() != first {
		t.Error(s.End())
	}
	s.Reset([]byte(`true`))
	if !s.Bool() || s.End() != nil {
		t.Error("Reset kept the error")
	}
}

func TestStrings(t *testing.T) {
	for text, want := range map[string]string{
		`""`: "", `"a"`: "a", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u0041\u00e9\u20AC"`: "Aé€", `"\ud83d\ude42!"`: "🙂!",
		`"\ud83d"`: "\ufffd", `"\ud83dx"`: "\ufffdx", `"\ud83d\u0041"`: "\ufffdA", `"\ud83d\ud83d\ude42"`: "\ufffd🙂", `"\ude42\n"`: "\ufffd\n", `"é\u0000"`: "é\x00",
	} {
		s := jsonscan.New([]byte(text))
		if got := string(s.Text()); s.End() != nil || got != want {
			t.Errorf("%s is %q, not %q: %v", text, got, want, s.End())
		}
	}
	for _, text := range []string{`"`, `"a`, `"\"`, `"\`, `"\x"`, `"\u12"`, `"\u12G4"`, `"\ud83d\u12"`, "\"\n\"", "\"\\n\x01\"", "\"\xff\"", "\"\\n\xff\"", `a`, `1`} {
		s := jsonscan.New([]byte(text))
		if got := s.Text(); got != nil || s.End() == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestDepth(t *testing.T) {
	for n, want := range map[int]bool{1000: true, 1001: false} {
		s := jsonscan.New([]byte(strings.Repeat("[", n) + strings.Repeat("]", n)))
		s.Skip()
		if got := s.End() == nil; got != want {
			t.Errorf("%d deep: %v", n, s.End())
		}
	}
}

// sameAsEncodingJSON compares the scanner with encoding/json, except for invalid UTF-8 and deeper
// nesting, which encoding/json accepts.
func sameAsEncodingJSON(t interface{ Fatalf(string, ...any) }, text string) {
	s := jsonscan.New([]byte(text))
	s.Skip()
	err := s.End()
	if want := json.Valid([]byte(text)) && utf8.ValidString(text); (err == nil) != want && !strings.Contains(text, strings.Repeat("[", 500)) {
		t.Fatalf("%q: %v", text, err)
	}
	var want string
	if json.Unmarshal([]byte(text), &want) != nil || !utf8.ValidString(text) || strings.TrimSpace(text) == "null" {
		return
	}
	s.Reset([]byte(text))
	if got := string(s.Text()); s.End() != nil || got != want {
		t.Fatalf("%q is %q, not %q: %v", text, got, want, s.End())
	}
}

func TestAgainstEncodingJSON(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"{", "}", "[", "]", ":", ",", `"`, `"a"`, `"a":`, `\`, `\n`, `\u00e9`, `\ud83d`, `\ude42`, `\u12`, "0", "12", "-", ".5", "e", "E+3", "true", "false", "null", "tru", " ", "\n", "\x01", "é", "\xff",
	})
	rapid.Check(t, func(t *rapid.T) {
		sameAsEncodingJSON(t, strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), ""))
		sameAsEncodingJSON(t, `"`+strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "string"), "")+`"`)
		sameAsEncodingJSON(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"-", "0", "1", ".", "e", "E", "+"}), 1, 6).Draw(t, "number"), ""))
	})
}

func FuzzAgainstEncodingJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e-3,"x\u00e9"],"b":null}`, `"\ud83d\ude42\ud83d"`, `[[],{}]`, `-0.1E+2`, `{"a":1,}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { sameAsEncodingJSON(t, text) })
}
