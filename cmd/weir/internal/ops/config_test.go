package ops

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/internal/config"
)

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigPrint(t *testing.T) {
	const secret = "hunter2-canary"
	file := configFile(t, "dc: eu-1\nkafka: {sasl: {mechanism: PLAIN, user: u}}\nlog: {level: warn}\n")
	environ := []string{"WEIR_KAFKA_SASL_PASSWORD=" + secret, "WEIR_INSTANCE=slot-0", "WEIR_LOG_LEVEL=error"}
	for format, want := range map[string][]string{
		"table": {"dc ", "eu-1 ", file + ":1\n", "slot-0 ", "env ", "WEIR_INSTANCE\n", "127.0.0.1:1,127.0.0.1:2", "flag ", "--brokers\n", "[redacted]"},
		"wide":  {"DEFAULT", "WEIR_KAFKA_BROKERS", "5ms to 1m", "time between commits"},
		"json":  {`"key": "log.level",` + "\n" + `    "value": "error",` + "\n" + `    "origin": "env",`},
		"jsonl": {`{"key":"dc","value":"eu-1","origin":"file",`},
		"yaml":  {"dc: eu-1 # file " + file + ":1\n", "# password: [redacted]"},
	} {
		t.Run(format, func(t *testing.T) {
			r := clitest.Run(t, Commands, environ, "config", "print", "-f", file, "--brokers", "127.0.0.1:1", "--brokers", "127.0.0.1:2", "-o", format)
			if r.Code != 0 || r.Stderr != "" {
				t.Fatalf("code %d, %s", r.Code, r.Stderr)
			}
			for _, w := range want {
				if !strings.Contains(r.Stdout, w) {
					t.Errorf("no %q in\n%s", w, r.Stdout)
				}
			}
			if strings.Contains(r.Stdout+r.Stderr, secret) {
				t.Error("the secret is shown")
			}
		})
	}
}

func TestConfigCheck(t *testing.T) {
	r := clitest.Run(t, Commands, nil, "config", "check", "-o", "json", "-f", configFile(t, "data_dir: /var/lib/weir\ntopics: {replication_factor: 1, min_insync: 1}"))
	var got checked
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil || r.Code != 0 {
		t.Fatalf("code %d, %v in %s", r.Code, err, r.Stdout)
	}
	if !got.Valid || got.NotDefault != 3 || got.Default < 40 || len(got.Warnings) != 1 || !strings.Contains(r.Stderr, "warning: ") {
		t.Errorf("%+v, stderr %s", got, r.Stderr)
	}
	r = clitest.Run(t, Commands, nil, "config", "check", "-f", configFile(t, "kafka:\n  brokerz: x\nmemory: 1"))
	for _, w := range []string{"weir.yaml:2:", `did you mean "kafka.brokers"?`, "weir.yaml:3:", "out of range: use 128MiB to 1TiB: the default is 768MiB; `weir config print"} {
		if r.Code != 78 || r.Stdout != "" || !strings.Contains(r.Stderr, w) {
			t.Errorf("code %d, no %q in\n%s", r.Code, w, r.Stderr)
		}
	}
}

// TestConfigCheckFiles: check reads the files that the configuration names, and refuses what a
// process would refuse. A token that every user can read is a warning.
func TestConfigCheckFiles(t *testing.T) {
	dir := t.TempDir()
	if r := clitest.Run(t, Commands, nil, "tls", "create", "--dir", dir, "--host", "weir-0"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	api := func(cert, key, ca, token string) string {
		at := func(name string) string { return filepath.Join(dir, name) }
		return fmt.Sprintf("data_dir: /var/lib/weir\napi: {tls_cert_file: %s, tls_key_file: %s, ca_file: %s, token_file: %s}", at(cert), at(key), at(ca), at(token))
	}
	kafka := "kafka: {tls: {enabled: true, cert_file: none.pem, key_file: none.key}, sasl: {mechanism: PLAIN, user: u, password_file: none.txt}}"
	peer := "dc: eu\ndcs: [eu, {name: us, brokers: ['us:1'], tls: {enabled: true, ca_file: none.pem}, sasl: {mechanism: PLAIN, user: u, password_file: none.txt}}]"
	for name, c := range map[string]struct {
		file string
		want []string // in the message; none: valid
	}{
		"valid":               {api("cert.pem", "key.pem", "cert.pem", "token"), nil},
		"no token":            {api("cert.pem", "key.pem", "cert.pem", "none"), []string{"api.token_file", "none: no such file"}},
		"a token of one byte": {api("cert.pem", "key.pem", "cert.pem", "short"), []string{"api.token_file", "has 1 bytes and could be guessed"}},
		"key for certificate": {api("key.pem", "key.pem", "cert.pem", "token"), []string{"api.tls_cert_file and api.tls_key_file"}},
		"no authorities":      {api("cert.pem", "key.pem", "token", "token"), []string{"api.ca_file", "no certificate in"}},
		"several":             {api("none", "key.pem", "cert.pem", "short"), []string{"api.tls_cert_file", "api.token_file"}},
		"files for Kafka":     {kafka, []string{"kafka.tls.cert_file", "none.pem", "kafka.sasl.password_file", "none.txt"}},
		"files for a peer":    {peer, []string{"dcs[us].tls.ca_file", "none.pem", "dcs[us].sasl.password_file", "none.txt"}},
	} {
		r := clitest.Run(t, Commands, nil, "config", "check", "-f", configFile(t, c.file))
		if (r.Code == 0) != (c.want == nil) || r.Code != 0 && r.Code != 78 {
			t.Errorf("%s: code %d\n%s", name, r.Code, r.Stderr)
		}
		for _, w := range c.want {
			if !strings.Contains(r.Stderr, w) {
				t.Errorf("%s: no %q in\n%s", name, w, r.Stderr)
			}
		}
	}
	if err := os.Chmod(filepath.Join(dir, "token"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := clitest.Run(t, Commands, nil, "config", "check", "-f", configFile(t, api("cert.pem", "key.pem", "cert.pem", "token")))
	if r.Code != 0 || !strings.Contains(r.Stderr, "can be read by every user") || !strings.Contains(r.Stderr, "chmod 600") {
		t.Errorf("code %d, stderr %s", r.Code, r.Stderr)
	}
}

// A printed configuration has no characters that steer a terminal, and loads to the same settings.
func TestConfigPrintEscapes(t *testing.T) {
	const dir = "/d\u202e\u009b31m"
	r := clitest.Run(t, Commands, []string{"WEIR_DATA_DIR=" + dir}, "config", "print", "-o", "yaml")
	if r.Code != 0 || strings.ContainsAny(r.Stdout, "\u202e\u009b") {
		t.Fatalf("code %d, %q", r.Code, r.Stdout)
	}
	file := configFile(t, r.Stdout)
	if cfg, err := config.Load(config.Options{File: file, Environ: []string{}}); err != nil || cfg.DataDir != dir {
		t.Errorf("%v, %+v", err, cfg)
	}
}
