package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// WithTLS encrypts every connection.
func (k *Cluster) WithTLS(cfg *tls.Config) {
	k.tls = cfg
	k.WithDialer(dialTLS(cfg, func() {}))
}

// dialLimit bounds the making of a connection, with its handshake.
const dialLimit = 10 * time.Second

// dialTLS returns a dialer of encrypted connections. accepted is called before the handshake: a
// broker that is silent then works, or expects no TLS.
func dialTLS(cfg *tls.Config, accepted func()) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err //nolint:wrapcheck // the client examines the type of the error
		}
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		plain, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err //nolint:wrapcheck // as above
		}
		accepted()
		own := cfg.Clone()
		if own.ServerName == "" {
			own.ServerName = host
		}
		conn := tls.Client(plain, own)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = plain.Close()
			return nil, err //nolint:wrapcheck // as above
		}
		return conn, nil
	}
}

// WithDialer opens every connection with dial, in place of WithTLS: through a proxy, or in a test.
func (k *Cluster) WithDialer(dial func(ctx context.Context, network, host string) (net.Conn, error)) {
	k.Options = append(k.Options, kgo.Dialer(dial))
}

// WithSASL authenticates every connection. credentials is called for each connection, so that
// passwords can be rotated. Mechanisms: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512.
func (k *Cluster) WithSASL(mechanism string, credentials func() (user, password string, err error)) error {
	var m sasl.Mechanism
	asScram := func(context.Context) (scram.Auth, error) {
		user, pass, err := credentials()
		return scram.Auth{User: user, Pass: pass}, err
	}
	switch mechanism {
	case "PLAIN":
		m = plain.Plain(func(context.Context) (plain.Auth, error) {
			user, pass, err := credentials()
			return plain.Auth{User: user, Pass: pass}, err
		})
	case "SCRAM-SHA-256":
		m = scram.Sha256(asScram)
	case "SCRAM-SHA-512":
		m = scram.Sha512(asScram)
	default:
		return fmt.Errorf("SASL mechanism %q is not known: use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", mechanism)
	}
	k.Options = append(k.Options, kgo.SASL(m))
	return nil
}
