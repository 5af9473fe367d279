package ops

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
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
	r := clitest.Run(t, Commands, nil, "config", "check", "-o", "json", "-f", configFile(t, "topics: {replication_factor: 1, min_insync: 1}"))
	var got struct {
		Valid    bool
		Changed  int
		Warnings []string
	}
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil || r.Code != 0 {
		t.Fatalf("code %d, %v in %s", r.Code, err, r.Stdout)
	}
	if !got.Valid || got.Changed != 2 || len(got.Warnings) != 1 || !strings.Contains(r.Stderr, "warning: ") {
		t.Errorf("%+v, stderr %s", got, r.Stderr)
	}
	r = clitest.Run(t, Commands, nil, "config", "check", "-f", configFile(t, "kafka:\n  brokerz: x\nmemory: 1"))
	for _, w := range []string{"weir.yaml:2:", `did you mean "kafka.brokers"?`, "weir.yaml:3:", "out of range"} {
		if r.Code != 78 || r.Stdout != "" || !strings.Contains(r.Stderr, w) {
			t.Errorf("code %d, no %q in\n%s", r.Code, w, r.Stderr)
		}
	}
}
