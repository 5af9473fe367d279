// Package serverurl is what clients of weir processes have in common: the check of a server's URL,
// the transport, and the token.
package serverurl
