// Package journal keeps a list of entries in a directory, so that a process that is killed has lost none that Append
// returned from.
//
//	Append ─▶ log.<n>       entry, entry, entry ...           (one write each)
//	Compact ─▶ snapshot.<n+1>, whole or not at all, and an empty log.<n+1>; then the files of n go
//	Open ─▶ snapshot.<n>, then log.<n>, entry by entry
//
// An entry is stored as its length, a checksum of the length, a checksum of the entry (CRC-32C, 4 bytes each, little
// endian), and its bytes.
//
// Invariants:
//   - What Open gives is what was appended, in its order, up to some entry; all entries that Append returned from are
//     among them as long as the operating system lives. After a loss of power the newest ones may be missing.
//   - An entry that ends before its length says is the last write of a process that was killed, and is cut off. Any
//     other damage is an error that names the file and the place: nothing is left out quietly.
//   - One process at a time has a directory open (on Unix; elsewhere that is for the user to see to).
//
// It does not know what the entries mean, and does no locking between goroutines.
package journal
