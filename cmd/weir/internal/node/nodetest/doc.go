// Package nodetest starts a node in the process of a test.
package nodetest
