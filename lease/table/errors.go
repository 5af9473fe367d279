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

// Errors to test with errors.Is. Package agent exports them under the same names.
var (
	ErrThrottled   = errors.New("DynamoDB throttled the request")
	ErrUnavailable = errors.New("DynamoDB does not answer")
	ErrTable       = errors.New("the table is missing or is not a valid lease table")
	ErrDenied      = errors.New("no access to DynamoDB")
	ErrClock       = errors.New("this machine's clock is off by more than is allowed")
)

// Error is a failed request. Its text is short: region, kind and cause. errors.Is finds the kind,
// one of the errors above; SDKText returns the SDK's whole text.
type Error struct {
	Region string
	kind   error
	sdk    error
}

func (e *Error) Error() string { return e.Region + ": " + e.kind.Error() + ": " + Cause(e.sdk) }

// Unwrap returns the kind and the SDK's error.
func (e *Error) Unwrap() []error { return []error{e.kind, e.sdk} }

// Raw returns the SDK's text, for logs.
func (e *Error) Raw() string { return e.sdk.Error() }

// ClassifyError wraps an error of the SDK in an *Error with its kind. region is the region of the
// request.
func (t *Table) ClassifyError(region string, err error) error {
	kind := ErrUnavailable
	var api smithy.APIError
	if withoutCredentials(err) {
		kind = ErrDenied
	} else if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "ResourceNotFoundException":
			kind = fmt.Errorf("%w: %s", ErrTable, t.Name)
		case "ValidationException", "SerializationException", "UnknownOperationException":
			kind = ErrTable
		case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException":
			kind = ErrThrottled
		case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException",
			"MissingAuthenticationTokenException",
			"IncompleteSignatureException":
			kind = ErrDenied
			if strings.Contains(api.ErrorMessage(), "Signature expired") ||
				strings.Contains(api.ErrorMessage(), "Signature not yet current") {
				kind = ErrClock
			}
		}
	}
	return &Error{Region: region, kind: kind, sdk: err}
}

// withoutCredentials reports whether the SDK found no credentials. It has no type for that; the
// error of STS or SSO is wrapped inside.
func withoutCredentials(err error) bool { return strings.Contains(err.Error(), "get credentials") }

// Cause returns why a request failed, without the SDK's text about the operation and its attempts.
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
		return "no credentials found: " + innermost(err).Error()
	case errors.As(err, &dns):
		return "cannot resolve the host name " + dns.Name
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &op) && op.Addr != nil:
		return "nothing listens at " + op.Addr.String()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "the request was canceled"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was closed"
	}
	return innermost(err).Error()
}

// innermost returns the error at the end of the chain of wrapped errors.
func innermost(err error) error {
	for {
		below := errors.Unwrap(err)
		if below == nil {
			return err
		}
		err = below
	}
}

// SDKText returns the SDK's text of an error that wraps an *Error, else "". It is for logs at debug
// level.
func SDKText(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Raw()
	}
	return ""
}
