// Package buildinfo reads the version, the commit and the platform that the compiler left in the
// binary.
package buildinfo
