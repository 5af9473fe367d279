//go:build synctests

package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/internal/simkafka"
)

// TestConnect: the first answer of a broker decides. Brokers that accept connections and never
// answer are reported after 3 s, and end the wait after 10 s; they hold up no other broker. Brokers
// that refuse connections end it at once.
func TestConnect(t *testing.T) {
	for _, tc := range []struct {
		brokers string // what each does
		after   time.Duration
		want    string // of the error
		waits   bool
	}{
		{"answers", 0, "", false},
		{"silent answers", 0, "", false},
		{"refuses answers silent", 0, "", false},
		{"refuses", 0, "connection refused", false},
		{"refuses refuses", 0, "connection refused", false},
		{"silent", 10 * time.Second, "no broker answered within 10s: silent-0:9092 accepts connections and sends nothing", true},
		{"refuses silent", 10 * time.Second, "TLS", true},
		{"unreachable", 10 * time.Second, "no connection to unreachable-0:9092 within 10s", true},
		{"late", 5 * time.Second, "", true},
		{"answers silent", 0, "", false},
		{"unreachable silent answers", 0, "", false},
		{"closes unreachable", 10 * time.Second, "closes-0:9092: ", true},
		{"unreachable untrusted", 10 * time.Second, "certificate", true},
		{"silent untrusted", 10 * time.Second, "certificate", true},
	} {
		t.Run(tc.brokers, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { connect(t, strings.Fields(tc.brokers), tc.after, tc.want, tc.waits) })
		})
	}
}

// readLimit is longer than the time after which kgo gives up reading from a silent broker. Close
// does not wait for such a read: a connection that is made at the moment of Close is read for 10 s.
const readLimit = 11 * time.Second

func connect(t *testing.T, brokers []string, after time.Duration, want string, waits bool) {
	defer time.Sleep(readLimit)
	cluster, err := simkafka.NewWithBrokers(1, 1, "in")
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	link := cluster.Link()
	var waited []string
	k := Cluster{Waiting: func(brokers []string) { waited = brokers }}
	for i, b := range brokers {
		k.Brokers = append(k.Brokers, fmt.Sprintf("%s-%d:9092", b, i))
	}
	k.Options = []kgo.Opt{kgo.DisableClientMetrics(), kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		switch does, _, _ := strings.Cut(addr, "-"); does {
		case "refuses":
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		case "unreachable":
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
		case "silent":
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, there) }()
			return here, nil
		case "closes":
			here, there := net.Pipe()
			_ = there.Close()
			return here, nil
		case "untrusted":
			return nil, &tls.CertificateVerificationError{Err: errors.New("the certificate is not trusted")}
		case "late":
			time.Sleep(5 * time.Second)
		}
		return link.Dial(ctx, network, cluster.ListenAddrs()[0])
	})}
	began := time.Now()
	cl, err := k.Connect(t.Context())
	if took := time.Since(began).Round(time.Second); took != after {
		t.Errorf("took %s, want %s", took, after)
	}
	if cl != nil { // its first request is not held up
		if _, err := kadm.NewClient(cl).ListTopics(t.Context()); err != nil || time.Since(began) > 2*after+time.Second {
			t.Errorf("the first request took %s, error %v", time.Since(began)-after, err)
		}
		cl.Close()
	}
	var none *NoAnswerError
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if slices.Contains(brokers, "untrusted") {
		if RefusalOf(err) != UntrustedBroker || errors.As(err, &none) {
			t.Errorf("error %v, want that about the certificate", err)
		}
		return
	}
	if slices.Contains(brokers, "closes") {
		return // the cause of a close is not known
	}
	if silent := slices.Contains(brokers, "silent"); err != nil && (errors.As(err, &none) != silent || Unreachable(err) == silent) {
		t.Errorf("silent brokers %t, unreachable %t, %v", silent, Unreachable(err), err)
	}
	if (waited != nil) != waits || waits && len(waited) != len(brokers) {
		t.Errorf("waiting was reported for %v", waited)
	}
}

// TestConnectEnds: the end of the context ends the wait.
func TestConnectEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(readLimit)
		k := Cluster{Brokers: []string{"any:9092"}, Options: []kgo.Opt{kgo.Dialer(func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, there) }()
			return here, nil
		})}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := k.Connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestConnectTLS: a broker that accepts connections and does not answer the handshake is silent,
// not away.
func TestConnectTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var accepted atomic.Bool
	k := Cluster{Brokers: []string{l.Addr().String()}}
	k.WithTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	cl, err := k.client(func() { accepted.Store(true) }, kgo.DialTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_ = cl.Ping(ctx)
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 5)); err != nil { // the handshake has begun
		t.Fatal(err)
	}
	if !accepted.Load() {
		t.Error("the connection is not noted before the handshake")
	}
	cancel()
	_ = c.Close()
	<-asked
}
