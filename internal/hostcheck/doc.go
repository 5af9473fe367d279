// Package hostcheck checks the Host header of requests to servers that trust this machine.
//
// It prevents DNS rebinding: a web page of evil.example whose name resolves to 127.0.0.1 can send
// requests to a server on this machine, and read the answers. Its requests name evil.example in
// the Host header.
package hostcheck
