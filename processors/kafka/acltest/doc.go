// Package acltest runs a Kafka broker with an authorizer in the process of a test.
//
// It is for tests of the lists of ACLs that weir prints: a user is granted the printed lines, and
// then does the work that they are for.
package acltest
