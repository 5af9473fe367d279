package item

// DynamoDB's names of the errors of items and expressions.
const (
	Validation    = "ValidationException"
	Serialization = "SerializationException"
)

// Error is DynamoDB's answer to invalid input. Code is its name without the prefix (Validation,
// Serialization), Message is DynamoDB's own text. Clients match on both, so neither may be changed.
type Error struct {
	Code    string
	Message string
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Invalid returns a validation error with the message.
func Invalid(message string) *Error { return &Error{Validation, message} }

// invalidParameter returns a validation error about a value. DynamoDB begins many of them with this
// sentence.
func invalidParameter(message string) *Error {
	return Invalid("One or more parameter values were invalid: " + message)
}
