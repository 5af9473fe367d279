package config

import (
	"strings"
	"testing"
)

func TestKeysAreComplete(t *testing.T) {
	keys := Keys()
	if len(keys) > 64 {
		t.Errorf("%d keys; the limit is 64: leave one out instead", len(keys))
	}
	seen := map[string]bool{}
	for _, k := range keys {
		if seen[k.Env()] {
			t.Errorf("%s: a second key has the variable %s", k.Name, k.Env())
		}
		seen[k.Env()] = true
		if isForeign(k.Env()) {
			t.Errorf("%s: its variable %s counts as foreign", k.Name, k.Env())
		}
		if len(k.Doc) < 8 {
			t.Errorf("%s: the description is too short: %q", k.Name, k.Doc)
		}
		numeric := k.Kind == KindInteger || k.Kind == KindDuration || k.Kind == KindBytes
		if numeric && (k.Min == "" || k.Max == "" || k.Unit == "") {
			t.Errorf("%s: a number needs unit, min and max", k.Name)
		}
		if k.check != "" && formatOf(k.check).want == "" {
			t.Errorf("%s: unknown format %q", k.Name, k.check)
		}
		if k.EnvOnly && (k.Kind != KindSecret || k.Default != "") {
			t.Errorf("%s: only a secret without a default can be restricted to the environment", k.Name)
		}
		for _, v := range []string{k.Default, k.Min, k.Max} {
			if v == "" && v != k.Default {
				continue
			}
			if _, err := k.parse(v); err != nil {
				t.Errorf("%s: %q: %v", k.Name, v, err)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"spend", "ingest", "topics", "lag", "dlq", "kafka.brokers", "kafka.tls.ca_file", "api.listen"}
	for _, tc := range []struct{ word, want string }{
		{"spned", "spend"},
		{"spends", "spend"},
		{"inges", "ingest"},
		{"topic", "topics"},
		{"lga", "lag"},
		{"Lag", "lag"},
		{"ca_file", "kafka.tls.ca_file"},
		{"brokers", "kafka.brokers"},
		{"listen", "api.listen"},
		{"kafka.broker", "kafka.brokers"},
		{"xyz", ""},
		{"", ""},
		{"d", ""},
		{"completely-else", ""},
	} {
		got, ok := Nearest(tc.word, words)
		if got != tc.want || ok != (tc.want != "") {
			t.Errorf("Nearest(%q) = %q, %v; want %q", tc.word, got, ok, tc.want)
		}
	}
}

func TestEnvNames(t *testing.T) {
	k := keysByName()["kafka.tls.ca_file"]
	if k.Env() != "WEIR_KAFKA_TLS_CA_FILE" {
		t.Error(k.Env())
	}
	if r := keysByName()["log.level"].Range(); !strings.Contains(r, "debug, info") {
		t.Error(r)
	}
}
