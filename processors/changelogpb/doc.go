// Package changelogpb is the format of changelog records: the keys of state, markers and barriers,
// and the messages in their values. An external reader of a changelog needs this package only.
package changelogpb
