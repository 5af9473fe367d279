// Package packed writes and reads rows of varints and length-prefixed strings: a compact form for
// processors that keep millions of rows.
//
// A row has no field names and no version: the code that reads it must know the order of the
// fields. Numbers take 1 to 10 bytes. Rows do not sort by their fields; use the codecs of package
// state for keys.
package packed
