package partiql

// Unsupported is the error about a statement that DynamoDB takes and this package does not. What names it.
type Unsupported struct{ What string }

// Error says so.
func (u *Unsupported) Error() string { return "partiql: " + u.What + " is not supported" }
