// Package serverurl is what clients of weir processes have in common: the check of a server's URL,
// and the transport.
package serverurl
