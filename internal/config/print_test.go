package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// same returns the difference between two configurations, without the origins of their settings.
func same(a, b *Config) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(Config{}), cmpopts.EquateEmpty(), cmp.Comparer(func(a, b Secret) bool { return a == b }))
}

func TestPrintLoadsToTheSame(t *testing.T) {
	environ := []string{"WEIR_KAFKA_SASL_PASSWORD=x"}
	a, err := load(t, "dc: eu-1\ninstance: 'true'\ndcs: [eu-1, {name: us-1, brokers: ['u:1', 'u:2'], tls: {enabled: true, ca_file: 'a b'}, sasl: {mechanism: SCRAM-SHA-256, user: w, password_file: p}, rate: 5MiB}, ap-1=a:9092]\nmemory: 1GiB\n"+
		"kafka: {brokers: ['[::1]:9092', 'b:1'], sasl: {mechanism: SCRAM-SHA-512, user: 'a: \"b\" #c'}}\nprocessor: {commit_interval: 50ms}", environ, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := a.Print(&out); err != nil {
		t.Fatal(err)
	}
	b, err := load(t, out.String(), environ, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, &out)
	}
	if d := same(a, b); d != "" {
		t.Error(d)
	}
	for _, want := range []string{"commit_interval: 50ms # file ", "weir.yaml:5", "listen: \"127.0.0.1:8080\" # default", "# password: [redacted] # env WEIR_KAFKA_SASL_PASSWORD"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// TestPrintedCommentsAreWrapped: a description of several lines is a comment of several lines.
func TestPrintedCommentsAreWrapped(t *testing.T) {
	c, err := load(t, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	comments := 0
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		comments++
		if len(line) > maxLine {
			t.Errorf("comment of %d bytes: %s", len(line), line)
		}
	}
	if keys := len(Keys()); comments <= keys {
		t.Errorf("%d lines of comments for %d keys: no description was wrapped", comments, keys)
	}
	if got := strings.Join(wrap("aa bb cccccc d", 5), "|"); got != "aa bb|cccccc|d" {
		t.Errorf("wrapped to %s", got)
	}
}

func FuzzFile(f *testing.F) {
	for _, s := range []string{
		"", "dc: a", "kafka: {brokers: [a:1]}\nmemory: 1GiB", "kafka:\n  tls: {enabled: on, ca_file: /x}", "a: &a [*a]", "? [a]\n: b", "<<: {dc: a}",
		"processor: {commit_interval: 1e3ms}", "kafka: {sasl: {user: \"a\\tb: #\", mechanism: PLAIN, password_file: ' x '}}", "dc: !!binary YQ==",
		"dc: a\ndcs: [a, 'b=h:1+h:2', {name: c, brokers: ['h:3'], tls: {enabled: true}, sasl: {mechanism: PLAIN, user: u, password_file: p}}]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		set, problems := parseFile("f", raw)
		if len(problems) > 0 {
			return
		}
		layer := source{origin: OriginFile, settings: set}
		if len(refused(layer)) > 0 {
			return
		}
		a, problems := merge([]source{defaults(), layer})
		if len(problems) > 0 {
			return
		}
		var out bytes.Buffer
		if err := a.Print(&out); err != nil {
			t.Fatal(err)
		}
		again, problems := parseFile("g", out.Bytes())
		if len(problems) > 0 {
			t.Fatalf("%v in\n%s", problems, &out)
		}
		b, problems := merge([]source{defaults(), {origin: OriginFile, settings: again}})
		if d := same(a, b); len(problems) > 0 || d != "" {
			t.Errorf("%v %s after\n%s", problems, d, &out)
		}
	})
}
