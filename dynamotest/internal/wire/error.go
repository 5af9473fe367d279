package wire

import (
	"errors"
	"strings"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Names of errors as clients see them.
const (
	Validation        = "ValidationException"
	Serialization     = "SerializationException"
	UnknownOperation  = "UnknownOperationException"
	ConditionalCheck  = "ConditionalCheckFailedException"
	ResourceNotFound  = "ResourceNotFoundException"
	ResourceInUse     = "ResourceInUseException"
	LimitExceeded     = "LimitExceededException"
	Throughput        = "ProvisionedThroughputExceededException"
	Throttling        = "ThrottlingException"
	InternalServer    = "InternalServerError"
	TrimmedDataAccess = "TrimmedDataAccessException"
	ExpiredIterator   = "ExpiredIteratorException"
	MissingToken      = "MissingAuthenticationTokenException"
	UnknownClient     = "UnrecognizedClientException"
	DuplicateItem     = "DuplicateItemException"
	AccessDenied      = "AccessDeniedException"
)

// Error is an error in an answer: its name without the prefix, and DynamoDB's own text if it has
// one.
type Error struct {
	Code    string
	Message string
	Item    item.Item // for ConditionalCheck: the present item, if the request asks for it
}

// Error returns the name and the text.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Invalid returns an error about a value of the request.
func Invalid(message string) *Error { return &Error{Code: Validation, Message: message} }

// InvalidParameter returns an error about a value. Most of DynamoDB's begin with this sentence.
func InvalidParameter(message string) *Error {
	return Invalid("One or more parameter values were invalid: " + message)
}

// Unsupported returns the error about a feature of DynamoDB that package dynamotest does not have.
func Unsupported(what string) *Error {
	return Invalid("dynamotest does not support " + what + ": leave it out, or use DynamoDB itself")
}

// From returns err as an Error. An error of another type becomes an InternalServerError.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var i *item.Error
	if errors.As(err, &i) {
		return &Error{Code: i.Code, Message: i.Message}
	}
	return &Error{Code: InternalServer, Message: err.Error()}
}

// Status returns the HTTP status of the error.
func (e *Error) Status() int {
	if e.Code == InternalServer {
		return 500
	}
	return 400
}

// StatementCode returns the name of the error in the response to one statement of a batch, as the
// documentation of BatchStatementError lists it.
func (e *Error) StatementCode() string {
	switch e.Code {
	case Validation:
		return "ValidationError"
	case Throttling:
		return "ThrottlingError"
	case InternalServer:
		return InternalServer
	default:
		return strings.TrimSuffix(e.Code, "Exception")
	}
}

// AppendJSON appends the error as the body of an answer.
func (e *Error) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"__type":`...)
	dst = item.AppendText(dst, prefix(e.Code)+e.Code)
	dst = append(dst, `,"message":`...)
	dst = item.AppendText(dst, e.Message)
	if e.Item.Len() > 0 {
		dst = e.Item.AppendJSON(append(dst, `,"Item":`...))
	}
	return append(dst, '}')
}

func prefix(code string) string {
	switch code {
	case Validation:
		return "com.amazon.coral.validate#"
	case Serialization, UnknownOperation, MissingToken, UnknownClient, AccessDenied:
		return "com.amazon.coral.service#"
	case Throttling:
		return "com.amazon.coral.availability#"
	default:
		return "com.amazonaws.dynamodb.v20120810#"
	}
}
