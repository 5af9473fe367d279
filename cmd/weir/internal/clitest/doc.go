// Package clitest runs commands of weir in the process of a test and returns what they printed and
// their exit code.
package clitest
