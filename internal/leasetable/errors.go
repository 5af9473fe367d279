package leasetable

import (
	"errors"
	"fmt"
	"strings"

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

// Failed says which of our errors an error of the SDK is.
func (t *Table) Failed(err error) error {
	kind := ErrUnavailable
	var api smithy.APIError
	if strings.Contains(err.Error(), "get credentials") { // the SDK has no type for having none; what STS or SSO said is below it
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
	return fmt.Errorf("%w: %w", kind, err)
}
