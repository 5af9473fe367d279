// Package journal keeps a list of entries in a directory. A process that is killed loses no entry
// for which Append has returned.
//
//	Append ──▶ log.<n>             entry, entry, entry ...   (one write each)
//	Compact ─▶ log.<n+1>, empty; snapshot.<n+1>, complete or absent;
//	           then the files of n are removed
//	Open ────▶ snapshot.<n>, then log.<n>, entry by entry
//
// An entry is stored as its length, a checksum of the length, a checksum of the entry (CRC-32C, 4
// bytes each, little endian), and its bytes.
//
// Invariants:
//
//   - Open returns the entries in the order in which they were appended, up to some entry. They
//     contain every entry for which Append has returned, as long as the operating system runs.
//     After a loss of power the newest entries may be missing.
//   - An entry that ends before its length is the last write of a killed process. Open cuts it off.
//     Any other damage is an error that names the file and the byte: Open never skips an entry.
//   - Only one process at a time can open a directory. On systems other than Unix the package does
//     not enforce this.
//
// The package does not interpret entries, and a Journal is not safe for concurrent use.
package journal
