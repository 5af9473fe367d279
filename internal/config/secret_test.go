package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const canary = "hunter2-canary"

// TestNoSecretIsEverShown: a secret in its proper place, or in any wrong place, appears in no
// output.
func TestNoSecretIsEverShown(t *testing.T) {
	env := []string{"WEIR_KAFKA_SASL_PASSWORD=" + canary}
	sasl := "kafka: {sasl: {mechanism: PLAIN, user: u}}\n"
	for name, tc := range map[string]struct {
		file    string
		environ []string
		flags   map[string]Flag
	}{
		"right":                  {sasl, env, nil},
		"with another error":     {sasl + "dc: EU", env, nil},
		"in the file":            {"kafka: {sasl: {password: " + canary + "}}", nil, nil},
		"in the file, as a list": {"kafka: {sasl: {password: [" + canary + "]}}", nil, nil},
		"below the key":          {"kafka: {sasl: {password: {a: " + canary + "}}}", nil, nil},
		"under a typo":           {"kafka: {sasl: {pasword: " + canary + "}}", nil, nil},
		"under a section":        {"kafka: {sasl: " + canary + "}", nil, nil},
		"as an alias":            {"kafka: {sasl: {password: *" + canary + "}}", nil, nil},
		"as an anchor":           {"kafka: {sasl: {password: &" + canary + " x}}", nil, nil},
		"as a tag":               {"kafka: {sasl: {password: !<" + canary + "> x}}", nil, nil},
		"as a tag handle":        {"kafka: {sasl: {password: !" + canary + "!x y}}", nil, nil},
		"in bad YAML":            {"kafka: {sasl: {password: \"" + canary + "\\q\"}}", nil, nil},
		"behind an at":           {"kafka:\n  sasl:\n    password: @" + canary, nil, nil},
		"behind a percent":       {"kafka:\n  sasl:\n    password: %" + canary + "\n%" + canary, nil, nil},
		"in an open list":        {"kafka: {sasl: {password: [" + canary + ", '" + canary + "'}}", nil, nil},
		"unclosed":               {"kafka:\n  sasl:\n    password: '" + canary + "\n", nil, nil},
		"with a tab":             {"kafka:\n\tsasl: " + canary, nil, nil},
		"typo in the env":        {"", []string{"WEIR_KAFKA_SASL_PASWORD=" + canary}, nil},
		"as a flag":              {"", nil, map[string]Flag{"kafka.sasl.password": {"--password", canary}}},
		"twice":                  {"kafka: {sasl: {password: " + canary + "}}\nkafka.sasl.password: " + canary, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := load(t, tc.file, tc.environ, tc.flags)
			if (err == nil) != (name == "right") {
				t.Fatalf("error %v", err)
			}
			var out bytes.Buffer
			fmt.Fprintln(&out, err)
			fmt.Fprintf(&out, "%+v %#v\n", err, err)
			if c != nil {
				showEveryWay(t, &out, c)
				if c.Kafka.SASL.Password.Reveal() != canary {
					t.Error("the secret itself is gone")
				}
			}
			if strings.Contains(out.String(), canary) {
				t.Errorf("shown in\n%s", &out)
			}
		})
	}
}

func showEveryWay(t *testing.T, out *bytes.Buffer, c *Config) {
	t.Helper()
	if err := c.Print(out); err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{c, *c, c.Kafka.SASL, c.Kafka.SASL.Password, c.Entries(), c.Warnings()} {
		fmt.Fprintf(out, "%v %+v %#v %s %q %x %d\n", v, v, v, v, v, v, v)
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		y, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(j)
		out.Write(y)
	}
	if !strings.Contains(out.String(), redacted) {
		t.Error("nothing was redacted: the test looks in the wrong place")
	}
}

func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pw")
	s := SASL{User: "u", PasswordFile: file}
	if _, _, err := s.Credentials(); err == nil || !strings.Contains(err.Error(), "sasl.password_file") {
		t.Errorf("missing file: %v", err)
	}
	for _, tc := range []struct{ content, want string }{{"", ""}, {"one\n", "one"}, {" two words \r\n", " two words "}} {
		if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, got, err := s.Credentials()
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("content %q: password %q, error %v", tc.content, got, err)
		}
	}
	if u, p, err := (SASL{User: "u", Password: Secret{"p"}}).Credentials(); u != "u" || p != "p" || err != nil {
		t.Errorf("from the environment: %s %s %v", u, p, err)
	}
}
