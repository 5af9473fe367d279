package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/aws/smithy-go"
)

// Errors to branch on, with errors.Is. Package agent has them by the same names.
var (
	ErrThrottled   = errors.New("DynamoDB throttles")
	ErrUnavailable = errors.New("DynamoDB does not answer")
	ErrTable       = errors.New("the table is missing or not of weir's schema")
	ErrDenied      = errors.New("DynamoDB refuses these credentials")
	ErrClock       = errors.New("this machine's clock is off by more than is allowed")
)

// Error is what a request failed by, in few words: errors.Is tells which of our errors it is, and Raw has all that the SDK said.
type Error struct {
	Region string
	kind   error
	sdk    error
}

func (e *Error) Error() string { return e.Region + ": " + e.kind.Error() + ": " + Cause(e.sdk) }

// Unwrap gives the kind, and what the SDK said.
func (e *Error) Unwrap() []error { return []error{e.kind, e.sdk} }

// Raw is what the SDK said, for logs.
func (e *Error) Raw() string { return e.sdk.Error() }

// ClassifyError says which of our errors an error of the SDK is. region is who was asked.
func (t *Table) ClassifyError(region string, err error) error {
	kind := ErrUnavailable
	var api smithy.APIError
	if withoutCredentials(err) {
		kind = ErrDenied
	} else if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "ResourceNotFoundException":
			kind = fmt.Errorf("%w: %s (weir table apply)", ErrTable, t.Name)
		case "ValidationException", "SerializationException", "UnknownOperationException":
			kind = ErrTable
		case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException":
			kind = ErrThrottled
		case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "MissingAuthenticationTokenException",
			"IncompleteSignatureException":
			kind = ErrDenied
			if strings.Contains(api.ErrorMessage(), "Signature expired") || strings.Contains(api.ErrorMessage(), "Signature not yet current") {
				kind = ErrClock
			}
		}
	}
	return &Error{Region: region, kind: kind, sdk: err}
}

// withoutCredentials tells that no request could be signed. The SDK has no type for that; what STS or SSO said is below it.
func withoutCredentials(err error) bool { return strings.Contains(err.Error(), "get credentials") }

// Cause is why a request of the SDK failed, without what it was and how often it was sent.
func Cause(err error) string {
	var api smithy.APIError
	var dns *net.DNSError
	var op *net.OpError
	var slow net.Error
	switch {
	case errors.As(err, &api):
		if api.ErrorMessage() == "" {
			return api.ErrorCode()
		}
		return api.ErrorCode() + ": " + api.ErrorMessage()
	case withoutCredentials(err):
		return "no credentials were found: " + innermost(err).Error()
	case errors.As(err, &dns):
		return "no address is known of " + dns.Name
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &op) && op.Addr != nil:
		return "nothing listens at " + op.Addr.String()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "it was given up"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was cut"
	}
	return innermost(err).Error()
}

// innermost is the cause below all that was wrapped around it.
func innermost(err error) error {
	for {
		below := errors.Unwrap(err)
		if below == nil {
			return err
		}
		err = below
	}
}

// Raw is all that the SDK said, where err is of a request; else nothing. It is for logs and those who ask for more.
func Raw(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Raw()
	}
	return ""
}
