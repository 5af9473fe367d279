package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Each kind of error has its reason, also inside other errors. The errors of a connection that
// breaks, and of a broker that moves a partition, have none.
func TestRefusalOf(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want Refusal
	}{
		{nil, NotRefused},
		{kerr.SaslAuthenticationFailed, BadCredentials},
		{kerr.UnsupportedSaslMechanism, BadCredentials},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, BadCredentials},
		{kerr.GroupAuthorizationFailed, NoPermission},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, UntrustedBroker},
		{&kgo.ErrFirstReadEOF{}, TLSMismatch},
		{&net.OpError{Op: "read", Err: io.EOF}, NotRefused},
		{kerr.NotLeaderForPartition, NotRefused},
		{io.ErrUnexpectedEOF, NotRefused},
	} {
		for _, err := range []error{tc.err, fmt.Errorf("read topics: %w", tc.err), &kadm.ShardErrors{Errs: []kadm.ShardError{{Err: tc.err}}}} {
			if tc.err == nil && err != nil {
				continue
			}
			if got := RefusalOf(err); got != tc.want {
				t.Errorf("%v: %d, want %d", err, got, tc.want)
			}
		}
	}
}
