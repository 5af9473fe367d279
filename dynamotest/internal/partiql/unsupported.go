package partiql

// Unsupported is the error about a statement that DynamoDB accepts and this package does not. What
// names the feature.
type Unsupported struct{ What string }

// Error implements error.
func (u *Unsupported) Error() string { return "partiql: " + u.What + " is not supported" }
