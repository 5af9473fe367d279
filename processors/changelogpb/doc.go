// Package changelogpb is the format of the records of a changelog: keys of state, of markers and of barriers, and the messages in
// their values. An external reader of a changelog needs this package alone.
package changelogpb
