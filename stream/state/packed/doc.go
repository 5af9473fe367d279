// Package packed reads rows that were written as varints and length-prefixed strings, one after the other: the compact form in
// which cores keep millions of rows. Writing them needs binary.AppendUvarint and AppendString only.
package packed
