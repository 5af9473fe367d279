package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// host is the host name in tests.
func host() (string, error) { return "box-1", nil }

// write writes text to a file weir.yaml and returns its path.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load loads a file with the given text, environ and flags.
func load(t testing.TB, text string, environ []string, flags map[string]Flag) (*Config, error) {
	t.Helper()
	o := Options{Environ: append([]string{}, environ...), Flags: flags, Hostname: host}
	if text != "" {
		o.File = write(t, text)
	}
	return Load(o)
}

func TestDefaultsAreValid(t *testing.T) {
	c, err := load(t, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Instance != "box-1" || c.Memory != 768<<20 || c.Processor.CommitInterval != 100*time.Millisecond ||
		len(c.Kafka.Brokers) != 1 || c.DCs != nil {
		t.Errorf("defaults: %+v", c)
	}
	if w := c.Warnings(); len(w) != 0 {
		t.Errorf("the defaults warn: %v", w)
	}
}

func TestEachSourceOverridesTheOneBelow(t *testing.T) {
	const key = "kafka.brokers"
	flag := map[string]Flag{key: {Name: "--brokers", Value: "flag:1"}}
	file := "kafka:\n  brokers: [file:1, file:2]\n"
	environ := []string{"WEIR_KAFKA_BROKERS=env:1,env:2"}
	for _, tc := range []struct {
		name, file string
		environ    []string
		flags      map[string]Flag
		want       string
		origin     Origin
		where      string
	}{
		{"default", "", nil, nil, "127.0.0.1:9092", OriginDefault, ""},
		{"file", file, nil, nil, "file:1,file:2", OriginFile, "weir.yaml:2"},
		{"file with a dotted key", "kafka.brokers: file:3", nil, nil, "file:3", OriginFile, "weir.yaml:1"},
		{"env", file, environ, nil, "env:1,env:2", OriginEnv, "WEIR_KAFKA_BROKERS"},
		{"flag", file, environ, flag, "flag:1", OriginFlag, "--brokers"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := load(t, tc.file, tc.environ, tc.flags)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(c.Kafka.Brokers, ","); got != tc.want {
				t.Errorf("brokers %q, want %q", got, tc.want)
			}
			for _, e := range c.Entries() {
				if e.Key != key {
					continue
				}
				if e.Value != tc.want || e.Origin != tc.origin || !strings.HasSuffix(e.Where, tc.where) {
					t.Errorf("entry %+v, want %s from %s at %s", e, tc.want, tc.origin, tc.where)
				}
			}
		})
	}
}

// The settings of a server replace defaults only, and are checked like all others. A section that
// no source sets keeps its defaults, and is not checked.
func TestServerSettings(t *testing.T) {
	o := Options{
		Environ: []string{"WEIR_LEASES_HOME=south", "WEIR_LEASES_TABLE=own"}, Hostname: host,
		Server: map[string]Flag{"leases.regions": {Name: "server s:1", Value: "north,south"}, "leases.table": {Name: "server s:1", Value: "theirs"}},
	}
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Leases.Regions, ","); got != "north,south" || c.Leases.Home != "south" || c.Leases.Table != "own" || c.where("leases.regions") != "server s:1" {
		t.Errorf("%+v", c.Leases)
	}
	o.Server = nil
	if _, err := Load(o); err == nil || !strings.Contains(err.Error(), "south is not one of leases.regions") {
		t.Errorf("without the regions of the server: %v", err)
	}
	o.Without = "leases"
	if c, err = Load(o); err != nil || c.Leases.Home != "" || c.Leases.Table != "weir-leases" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestFileNamedByTheEnvironment(t *testing.T) {
	c, err := Load(Options{Environ: []string{EnvFile + "=" + write(t, "dc: eu-1")}, Hostname: host})
	if err != nil || c.DC != "eu-1" {
		t.Fatalf("dc %v, error %v", c, err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		environ    []string
		flags      map[string]Flag
		want       []string // each in the error
	}{
		{"typo", "dc: a\nkafka:\n  brokerz: [b:1]", nil, nil, []string{"weir.yaml:3", `unknown key "kafka.brokerz"`, `did you mean "kafka.brokers"?`}},
		{"typo in a section", "procesor: {workers: 2}", nil, nil, []string{`did you mean "processor.workers"?`}},
		{"key without its section", "brokers: b:1", nil, nil, []string{`did you mean "kafka.brokers"?`}},
		{"key unlike any", "zzzzzzzzzzzz: 1", nil, nil, []string{"unknown key", "weir config print"}},
		{"section with a value", "kafka: b:1", nil, nil, []string{"kafka is a section"}},
		{"typo in the environment", "", []string{"WEIR_KAFKA_BROKER=b:1"}, nil, []string{"WEIR_KAFKA_BROKER:", `did you mean "WEIR_KAFKA_BROKERS"?`}},
		{"twice", "dc: a\nlog: {level: info}\ndc: b", nil, nil, []string{"weir.yaml:3", `"dc" is set twice`, "weir.yaml:1"}},
		{"twice in two spellings", "kafka: {brokers: a:1}\nkafka.brokers: b:1", nil, nil, []string{"weir.yaml:2", "set twice"}},
		{"no YAML", "dc: [", nil, nil, []string{"not YAML", "line 1"}},
		{"a list without an end", "kafka: {brokers: [a:1, b:1}", nil, nil, []string{"not YAML", "expected ',' or ']'"}},
		{"only a word", "hello", nil, nil, []string{"a value, not settings"}},
		{"alias", "dc: &x a\ninstance: *x", nil, nil, []string{"weir.yaml:2", "aliases"}},
		{"list of maps", "leases: {regions: [{a: b}]}", nil, nil, []string{"leases.regions", "plain values"}},
		{"list for one value", "dc: [a, b]", nil, nil, []string{"dc: takes one value"}},
		{"duration without unit", "processor: {commit_interval: 100}", nil, nil, []string{"weir.yaml:1", "processor.commit_interval", `"100" has no unit`, "100ms"}},
		{"no duration", "processor: {commit_interval: soon}", nil, nil, []string{`"soon" is not a duration`}},
		{"below the range", "processor: {commit_interval: 1ms}", nil, nil, []string{`"1ms" is out of range: use 5ms to 1m`, "the default is 100ms"}},
		{"above the range", "", []string{"WEIR_PROCESSOR_WORKERS=1000"}, nil, []string{"WEIR_PROCESSOR_WORKERS", `"1000" is out of range: use 0 to 256`}},
		{"no number", "", nil, map[string]Flag{"processor.workers": {"--workers", "many"}}, []string{"--workers", `"many" is not a whole number`}},
		{"no size", "memory: 5 bananas", nil, nil, []string{`"5 bananas" is not a size`, "768MiB"}},
		{"no bool", "kafka: {tls: {enabled: maybe}}", nil, nil, []string{`"maybe" is neither true nor false`}},
		{"not one of", "log: {level: inof}", nil, nil, []string{`"inof" is not allowed`, `did you mean "info"?`}},
		{"no port", "kafka: {brokers: [a]}", nil, nil, []string{`"a" is not allowed`, "host:port"}},
		{"same broker twice", "kafka: {brokers: [a:1, a:1]}", nil, nil, []string{`"a:1" is listed twice`}},
		{"bad datacentre", "dc: EU_1", nil, nil, []string{`"EU_1" is not allowed`, "a-z, 0-9"}},
		{"every interface", "api: {listen: ':8080'}", nil, nil, []string{"api.listen = :8080 can be reached from other machines", "api.token_file", "is every interface", "api.advertise"}},
		{"public address", "api: {ops_listen: '0.0.0.0:8081'}", nil, nil, []string{"api.ops_listen = 0.0.0.0:8081 can be reached from other machines", "api.tls_cert_file"}},
		{"public without a token", "api: {listen: '10.0.0.1:8080', tls_cert_file: c, tls_key_file: k}", nil, nil, []string{"without TLS or a token"}},
		{"public without TLS", "api: {listen: '10.0.0.1:8080', token_file: t}", nil, nil, []string{"without TLS or a token"}},
		{"API's certificate without key", "api: {tls_cert_file: c}", nil, nil, []string{"api.tls_cert_file and api.tls_key_file go together"}},
		{"advertised without a port", "api: {advertise: weir-0}", nil, nil, []string{`"weir-0" is not allowed`, "host:port that others can reach"}},
		{"every interface advertised", "api: {advertise: '0.0.0.0:8080'}", nil, nil, []string{"api.advertise", "others can reach"}},
		{"one address for both", "api: {ops_listen: '127.0.0.1:8080'}", nil, nil, []string{"is the address of api.listen"}},
		{"intervals crossed", "processor: {commit_interval: 2s}", nil, nil, []string{"processor.commit_interval = 2s is above processor.commit_interval_max = 1s"}},
		{"interval near the time-out", "processor: {commit_interval_max: 6s}", nil, nil, []string{"half of processor.transaction_timeout = 10s"}},
		{"commit larger than memory", "processor: {commit_bytes: 400MiB}", nil, nil, []string{"processor.commit_bytes = 400MiB is above half of memory = 768MiB"}},
		{"in-sync above copies", "topics: {replication_factor: 1}", nil, nil, []string{"nothing could be written"}},
		{"own name not in the ring", "dc: a\ndcs: ['b=h:1', 'c=h:1']", nil, nil, []string{"weir.yaml:2", `dcs lacks this datacentre, "a": it has b, c`}},
		{"one broker for two datacentres", "dc: a\ndcs: [a, 'b=h:1+i:1', 'c=j:1+h:1']", nil, nil, []string{"weir.yaml:2", "dcs has the broker h:1 for c and for b", "counted twice"}},
		{"a peer with the brokers of this datacentre", "dc: a\nkafka: {brokers: ['h:1', 'h:2']}\ndcs: [a, 'b=h:2']", nil, nil, []string{"weir.yaml:3", "dcs has the broker h:2 for b and for this datacentre"}},
		{"a datacentre that cannot be in the name of a topic", "dc: a\ndcs: [a, 'b-=h:1']", nil, nil, []string{"weir.yaml:2", `"b-=h:1" is not allowed`, "beginning with a letter"}},
		{"a datacentre twice", "dc: a\ndcs: ['a', 'b=h:1', 'b=h:2']", nil, nil, []string{"weir.yaml:2", `"b" is listed twice`}},
		{"a peer without brokers", "dc: a\ndcs: [a, b]", nil, nil, []string{"weir.yaml:2", "dcs has no brokers of b"}},
		{"a datacentre without a name", "dc: a\ndcs:\n  - brokers: [h:1]", nil, nil, []string{"weir.yaml:3", "a datacentre has no name"}},
		{"typo in a datacentre", "dc: a\ndcs:\n  - name: a\n  - name: b\n    broker: [h:1]", nil, nil, []string{"weir.yaml:5", `dcs: unknown key "broker"`, `did you mean "brokers"?`}},
		{"bad value in a datacentre", "dc: a\ndcs:\n  - name: a\n  - name: b\n    brokers: [h]", nil, nil, []string{"weir.yaml:5", `dcs: brokers: "h" is not allowed`}},
		{"password of a peer", "dc: a\ndcs: [a, {name: b, brokers: ['h:1'], sasl: {password: x}}]", nil, nil, []string{"weir.yaml:2", "sasl.password is a secret", "sasl.password_file"}},
		{"half of a peer's SASL", "dc: a\ndcs: [a, {name: b, brokers: ['h:1'], sasl: {mechanism: PLAIN}}]", nil, nil, []string{"weir.yaml:2", "dcs has b, whose sasl.mechanism = PLAIN needs a user and a password: set its sasl.user and sasl.password_file"}},
		{"a peer's address without a port", "dc: a", []string{"WEIR_DCS=a,b=h"}, nil, []string{"WEIR_DCS", `"b=h" is not allowed`, "name=host:port"}},
		{"dcs with one value", "dcs: {a: b}", nil, nil, []string{"unknown key \"dcs.a\""}},
		{"a list in the ring", "dcs: [[a]]", nil, nil, []string{"dcs: an item is a mapping or a name"}},
		{"certificate without key", "kafka: {tls: {enabled: true, cert_file: c}}", nil, nil, []string{"go together"}},
		{"certificates without TLS", "kafka: {tls: {ca_file: c}}", nil, nil, []string{"in the clear"}},
		{"user without mechanism", "kafka: {sasl: {user: u}}", nil, nil, []string{"the connection would not be authenticated"}},
		{"mechanism without password", "kafka: {sasl: {mechanism: PLAIN, user: u}}", nil, nil, []string{"needs a user and a password"}},
		{"two passwords", "kafka: {sasl: {mechanism: PLAIN, user: u, password_file: f}}", []string{"WEIR_KAFKA_SASL_PASSWORD=x"}, nil, []string{"both set"}},
		{"password in the file", "kafka: {sasl: {password: x}}", nil, nil, []string{"weir.yaml:1", "is a secret", "kafka.sasl.password_file", "WEIR_KAFKA_SASL_PASSWORD"}},
		{"several at once", "dcc: a\nmemory: x\npeerz: b", nil, nil, []string{`"dcc"`, "memory", `"peerz"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := load(t, tc.file, tc.environ, tc.flags)
			var ce *Error
			if !errors.As(err, &ce) {
				t.Fatalf("got %+v, error %v; want a *config.Error", c, err)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not contain %q", err, w)
				}
			}
			for _, p := range ce.Problems {
				if p.Fix == "" {
					t.Errorf("problem %q has no fix", p)
				}
			}
		})
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none.yaml")} {
		_, err := Load(Options{File: path, Environ: []string{}, Hostname: host})
		if err == nil || !strings.Contains(err.Error(), path+": cannot read the configuration") {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

// TestVariablesThatAreNotOurs: Kubernetes sets such variables in every pod for a service named
// weir.
func TestVariablesThatAreNotOurs(t *testing.T) {
	_, err := load(t, "", []string{
		"WEIR_SERVICE_HOST=10.0.0.1", "WEIR_SERVICE_PORT=8080", "WEIR_SERVICE_PORT_HTTP=8080", "WEIR_PORT=tcp://10.0.0.1:8080",
		"WEIR_PORT_8080_TCP=tcp://10.0.0.1:8080", "WEIR_PORT_8080_TCP_ADDR=10.0.0.1", "WEIR_SERVER=127.0.0.1:1",
		"WEIR_TEST_RUNS=3", "PATH=/bin", "WEIRD=1",
	}, nil)
	if err != nil {
		t.Error(err)
	}
}

func TestInstanceNeedsAName(t *testing.T) {
	for _, h := range []func() (string, error){
		func() (string, error) { return "", nil },
		func() (string, error) { return "a b", nil },
		func() (string, error) { return "box", errors.New("no name") },
	} {
		if _, err := Load(Options{Environ: []string{}, Hostname: h}); err == nil || !strings.Contains(err.Error(), "set instance") {
			t.Errorf("error %v, want one that asks for instance", err)
		}
		c, err := Load(Options{Environ: []string{"WEIR_INSTANCE=slot-0"}, Hostname: h})
		if err != nil || c.Instance != "slot-0" {
			t.Errorf("instance set: %v", err)
		}
	}
}

func TestWarnings(t *testing.T) {
	c, err := load(t, "topics: {replication_factor: 1, min_insync: 1}\nprocessor: {session_timeout: 2s}\n"+
		"kafka: {sasl: {mechanism: PLAIN, user: u}}", []string{"WEIR_KAFKA_SASL_PASSWORD=x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range c.Warnings() {
		keys = append(keys, p.Key)
	}
	want := "kafka.sasl.mechanism topics.replication_factor processor.session_timeout"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("warnings for %s, want %s", got, want)
	}
}

// TestLeaseLoopSettings: the settings of the lease roles are checked, alone and against each other.
func TestLeaseLoopSettings(t *testing.T) {
	c, err := load(t, "leases: {executor: {timeout: 3s, rate: 200}, bridge: {sweep_interval: 0s}, balancer: {max_moved: 10}}", []string{"WEIR_LEASES_LIBERATOR_BUCKET_RATE=50"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := c.Leases
	if l.Executor.Timeout != 3*time.Second || l.Executor.Rate != 200 || l.Executor.Concurrency != 64 || l.Liberator.Rate != 50 || l.Balancer.Cap != 10 || l.Balancer.CapPercent != 25 {
		t.Errorf("loaded %+v", l)
	}
	if w := c.Warnings(); len(w) != 1 || w[0].Key != "leases.bridge.sweep_interval" {
		t.Errorf("a table that is never swept warns: %v", w)
	}
	for text, want := range map[string]string{
		"leases: {balancer: {tick_interval: 10s, plan_interval: 5s}}": "leases.balancer.plan_interval",
		"leases: {bridge: {sweep_interval: 10s}}":                     "0s for never",
		"leases: {executor: {timeout: 1h}}":                           "50ms to 10s",
		"leases: {executor: {concurrency: 0}}":                        "1 to 1024",
		"leases: {balancer: {max_moved_percent: 101}}":                "1 to 100",
		"leases: {balancer: {max_move: 3}}":                           "leases.balancer.max_moved",
		"leases: {liberator: {bucket_rate: many}}":                    "whole number",
	} {
		if _, err := load(t, text, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and not %q", text, err, want)
		}
	}
}

// TestOwnDatacentre: one file serves all datacentres. The item of this datacentre stands for the
// section kafka, unless a setting of that section is given.
func TestOwnDatacentre(t *testing.T) {
	const file = "dcs:\n  - {name: eu, brokers: ['eu:1']}\n  - {name: us, brokers: ['us:1', 'us:2'], tls: {enabled: true}}\n  - ap=ap:1+ap:2\n"
	for _, tc := range []struct {
		dc      string
		environ []string
		brokers string
		tls     bool
		peers   string
	}{
		{"eu", nil, "eu:1", false, "us ap"},
		{"us", nil, "us:1,us:2", true, "eu ap"},
		{"ap", nil, "ap:1,ap:2", false, "eu us"},
		{"us", []string{"WEIR_KAFKA_BROKERS=inside:1"}, "inside:1", false, "eu ap"},
	} {
		c, err := load(t, file, append(tc.environ, "WEIR_DC="+tc.dc), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Kafka.Brokers, ","); got != tc.brokers || c.Kafka.TLS.Enabled != tc.tls {
			t.Errorf("%s %v: brokers %s, TLS %t", tc.dc, tc.environ, got, c.Kafka.TLS.Enabled)
		}
		if got := strings.Join(c.PeerNames(), " "); got != tc.peers {
			t.Errorf("%s: peers %s, want %s", tc.dc, got, tc.peers)
		}
		for _, e := range c.Entries() {
			if e.Key == "kafka.brokers" && e.Value != tc.brokers {
				t.Errorf("%s: the entry has %s", tc.dc, e.Value)
			}
		}
	}
	if c, err := load(t, "", []string{"WEIR_DC=a", "WEIR_DCS=a, b=h:1+h:2,c=h:3"}, nil); err != nil || strings.Join(c.PeerNames(), " ") != "b c" || len(c.Peers()[0].Brokers) != 2 {
		t.Errorf("from the environment: %+v, %v", c, err)
	}
}
