package item

// The names of the errors that items and expressions can give, as the service names them.
const (
	Validation    = "ValidationException"
	Serialization = "SerializationException"
)

// Error is an answer of the service to bad input. Code is its name without the service's prefix (Validation,
// Serialization), Message the service's own text: clients match on both, so both are interface and neither is changed.
type Error struct {
	Code    string
	Message string
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Invalid returns a validation error with the message given.
func Invalid(message string) *Error { return &Error{Validation, message} }

// invalidParameter returns a validation error about a value, with the sentence that the service begins those with.
func invalidParameter(message string) *Error {
	return Invalid("One or more parameter values were invalid: " + message)
}
