package integration

import (
	"bytes"
	"context"
	"crypto/pbkdf2"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/weirhq/weir/internal/testlimit"
)

// mutualTLS returns the setting for the listener TLS, with an authority and the directory of a
// client certificate.
func (c *cluster) mutualTLS(ca, dir string) string {
	return fmt.Sprintf("kafka: {brokers: [%s], tls: {enabled: true, ca_file: %s, cert_file: %s/cert.pem, key_file: %[3]s/key.pem}}", c.brokers[0].tls, ca, dir)
}

// scram returns the setting for the listener PASSWORD.
func (c *cluster) scram(ca, user, passwordFile string) string {
	return fmt.Sprintf("kafka: {brokers: [%s], tls: {enabled: true, ca_file: %s}, sasl: {mechanism: SCRAM-SHA-512, user: %s, password_file: %s}}",
		c.brokers[0].password, ca, user, passwordFile)
}

// TestRefusedCredentials: a process that the brokers refuse, or that refuses the brokers, ends at
// once with an exit code, the cause and the settings to correct. So does a command.
func TestRefusedCredentials(t *testing.T) {
	c := shared(t)
	dir, in := t.TempDir(), time.Now().Add(time.Hour)
	other, err := newAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	folder := func(a *authority, until time.Time) string {
		d := t.TempDir()
		a.certify(t, d, until)
		return d
	}
	ca, otherCA := filepath.Join(os.Getenv(envCerts), caFile), filepath.Join(dir, caFile)
	valid := folder(theAuthority(t), in)
	right, wrong := writePassword(t, "right"), writePassword(t, "wrong")
	c.setPassword("weir", "right")
	for _, tc := range []refusal{
		{"wrong password", c.scram(ca, "weir", wrong), 77, "SASL_AUTHENTICATION_FAILED", "kafka.sasl.user", false},
		{"unknown user", c.scram(ca, "stranger", right), 77, "SASL_AUTHENTICATION_FAILED", "kafka.sasl.user", false},
		{"wrong mechanism", strings.Replace(c.scram(ca, "weir", right), "SCRAM-SHA-512", "PLAIN", 1), 77, "UNSUPPORTED_SASL_MECHANISM", "kafka.sasl.mechanism", false},
		{"no password", "kafka: {brokers: [" + c.brokers[0].password + "], tls: {enabled: true, ca_file: " + ca + "}}", 69, "SASL", "kafka.sasl.mechanism", true},
		{"no TLS", "kafka: {brokers: [" + c.brokers[0].tls + "]}", 69, "tls", "kafka.tls.enabled", false},
		{"TLS to a plain listener", strings.Replace(c.mutualTLS(ca, valid), c.brokers[0].tls, c.brokers[0].addr, 1), 69, "TLS", "kafka.tls.enabled", true},
		{"broker of another authority", c.mutualTLS(otherCA, valid), 69, "unknown authority", "kafka.tls.ca_file", false},
		{"no client certificate", "kafka: {brokers: [" + c.brokers[0].tls + "], tls: {enabled: true, ca_file: " + ca + "}}", 77, "certificate required", "kafka.tls.cert_file", false},
		{"client of another authority", c.mutualTLS(ca, folder(other, in)), 77, "certificate", "must be valid now", false},
		{"expired client certificate", c.mutualTLS(ca, folder(theAuthority(t), time.Now().Add(-time.Hour))), 77, "certificate", "must be valid now", false},
	} {
		t.Run(tc.name, tc.check)
	}
	c.presents(expiredFile)
	defer c.presents(brokerFile)
	t.Run("expired certificate of the broker", refusal{"", c.mutualTLS(ca, valid), 69, "expired", "must be valid now", false}.check)
}

// refusal is how processes end with a setting of the section kafka.
type refusal struct {
	name, kafka string
	code        int
	why, do     string // parts of the cause and of the remedy
	closed      bool   // the brokers close the connection, as a proxy does in front of a broker that starts
}

// check runs a process and a command. Where connections are closed at once the process waits for
// two minutes, as a test of package node does in simulated time, so the command runs alone.
func (r refusal) check(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(file, []byte(r.kafka+"\napi: {listen: 127.0.0.1:0, ops_listen: 127.0.0.1:0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := [][]string{{"topics", "plan"}, {"run"}}
	if r.closed {
		lines = lines[:1]
	}
	for _, args := range lines {
		began := time.Now()
		got := weir(t, append(args, "-f", file)...)
		_, explained, _ := strings.Cut(got.stderr, "  why: ")
		cause, remedy, _ := strings.Cut(explained, "\n  do:  ")
		if got.code != r.code || !strings.Contains(cause, r.why) || !strings.Contains(remedy, r.do) {
			t.Errorf("weir %s: code %d, want %d with the cause %q and the remedy %q\n%s", args[0], got.code, r.code, r.why, r.do, got.stderr)
		}
		t.Logf("weir %s ended after %s", args[0], time.Since(began))
	}
}

// presents changes the certificate that the broker presents.
func (c *cluster) presents(file string) {
	c.t.Helper()
	location := "/tmp/" + file
	want, err := tls.LoadX509KeyPair(filepath.Join(os.Getenv(envCerts), file), filepath.Join(os.Getenv(envCerts), file))
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := c.adm.AlterBrokerConfigs(c.t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "listener.name.tls.ssl.keystore.location", Value: &location}}, 1)
	for _, r := range got {
		err = errors.Join(err, r.Err)
	}
	if err != nil {
		c.t.Fatalf("present %s: %v", file, err)
	}
	// The threads of the broker change one after another, and take connections in turn: so all of
	// many connections in a row must have the new certificate.
	testlimit.Within(c.t, "the broker presents "+file, func(ctx context.Context) error {
		for range 12 {
			var seen []byte
			d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, VerifyPeerCertificate: func(chain [][]byte, _ [][]*x509.Certificate) error { //nolint:gosec // the test looks at the certificate
				seen = chain[0]
				return errors.New("seen")
			}}}
			conn, err := d.DialContext(ctx, "tcp", c.brokers[0].tls)
			if err == nil {
				_ = conn.Close()
			}
			if !bytes.Equal(seen, want.Leaf.Raw) {
				return fmt.Errorf("another certificate, or none: %w", err)
			}
		}
		return nil
	})
}

// TestChangedCredentials: two processes count over TLS, one with a client certificate and one with
// a password. The password changes at the brokers first, and later the certificate becomes one that
// the brokers refuse. A process without valid credentials stays alive, the other one takes its
// partitions over, and with valid ones in its files it works again.
func TestChangedCredentials(t *testing.T) {
	onDemand(t, "takes a minute")
	c := shared(t)
	f := follow(c)
	dir, ca := t.TempDir(), filepath.Join(os.Getenv(envCerts), caFile)
	theAuthority(t).certify(t, dir, time.Now().Add(time.Hour))
	c.setPassword("weir", "first")
	file := writePassword(t, "first")
	a, b := newInstance(c, "a", c.scram(ca, "weir", file)).start(), newInstance(c, "b", c.mutualTLS(ca, dir)).start()
	addr, _ := a.ready()
	other, _ := b.ready()
	share := func(context.Context) error {
		if len(f.owned(a.name)) < 4 || len(f.owned(b.name)) < 4 {
			return errors.New("the partitions are not shared yet")
		}
		return nil
	}
	l := startLoad(c, 7, 5_000, 200_000)
	testlimit.Within(t, "both count", share)

	c.setPassword("weir", "second")
	t.Logf("the process without a valid password lost its partitions after %s", b.folds(other, 24))
	a.alive()
	if err := os.WriteFile(file, []byte("second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	works := func(p *process, addr string) func(context.Context) error {
		return func(ctx context.Context) error {
			a.alive()
			b.alive()
			n, err := p.running(ctx, addr)
			if err == nil && n < 4 {
				err = fmt.Errorf("it runs %d partitions", n)
			}
			return err
		}
	}
	t.Logf("with the new password it works again after %s", testlimit.Within(t, "the first process works again", works(a, addr)))

	stranger, err := newAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stranger.certify(t, dir, time.Now().Add(time.Hour))
	c.brokers[0].docker(t, "restart", "-t", "30") // brokers check a certificate when a connection begins
	t.Logf("the process without a valid certificate lost its partitions after %s", a.folds(addr, 24))
	b.alive()
	theAuthority(t).certify(t, dir, time.Now().Add(time.Hour))
	t.Logf("with a valid certificate it works again after %s", testlimit.Within(t, "the second process works again", works(b, other)))
	f.check(c, l.finish(), 0)
	a.alive()
	b.alive()
}

func writePassword(t *testing.T, password string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// setPassword creates a user of the listener PASSWORD, or changes the password.
func (c *cluster) setPassword(user, password string) {
	c.t.Helper()
	salt := []byte("sixteen bytes...")
	salted, err := pbkdf2.Key(sha512.New, password, salt, 4096, sha512.Size)
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := c.adm.AlterUserSCRAMs(c.t.Context(), nil, []kadm.UpsertSCRAM{{
		User: user, Mechanism: kadm.ScramSha512, Iterations: 4096, Salt: salt, SaltedPassword: salted,
	}})
	if err == nil {
		err = got.Error()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(theAuthority(c.t).cert)
	testlimit.Within(c.t, "the broker accepts the password", func(ctx context.Context) error {
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.brokers[0].password), kgo.DialTLSConfig(&tls.Config{RootCAs: pool}), kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism())) //nolint:gosec // the default is TLS 1.2 or newer
		if err != nil {
			return err
		}
		defer cl.Close()
		return cl.Ping(ctx)
	})
}
