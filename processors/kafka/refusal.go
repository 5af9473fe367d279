package kafka

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Refusal is a reason for which brokers and a client with the present settings cannot work
// together. The same request again fails again.
type Refusal int

// The reasons.
const (
	NotRefused      Refusal = iota // another error, or none
	BadCredentials                 // the brokers refuse the user, the password, the mechanism or the client certificate
	NoPermission                   // the ACLs of the brokers do not allow a request
	UntrustedBroker                // the client refuses the certificate of a broker
	TLSMismatch                    // one side speaks TLS or SASL, and the other side does not
)

// RefusalOf returns the reason in err.
func RefusalOf(err error) Refusal {
	var remote *net.OpError
	switch {
	case err == nil:
		return NotRefused
	case isAny(err, kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState):
		return BadCredentials
	case isAny(err, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed):
		return NoPermission
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return UntrustedBroker
	case errors.As(err, &remote) && remote.Op == "remote error": // crypto/tls: an alert of the broker about the client
		return BadCredentials
	// the client has no type for the second
	case closedFirst(err), strings.Contains(err.Error(), "tls alert record"):
		return TLSMismatch
	}
	return NotRefused
}

func isAny(err error, list ...*kerr.Error) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
