// Package clitest runs commands in the process of a test, and returns their output and exit code.
package clitest
