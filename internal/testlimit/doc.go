// Package testlimit has the one limit of real time that tests use. The limit exists only to end a
// test that hangs: a test fails for a wrong result, not for a slow machine, so the limit is far
// above the duration of any step. How long a step takes is tested in virtual time, or measured by a
// benchmark; a test may log it.
package testlimit
