package stream

import "fmt"

// RejectError is the error by which a record function refuses its record, see EachRecord.
type RejectError struct {
	Reason string // from a closed set: becomes a metric label and a header of the dead letter
	Detail string // explains the reason to a person
}

func (e *RejectError) Error() string { return e.Reason + ": " + e.Detail }

// Rejectf returns a RejectError. reason is from a closed set, such as "bad_price"; the format
// explains it to a person.
func Rejectf(reason, format string, args ...any) error {
	return &RejectError{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
