//go:build synctests

package processorstest

const tagged = true
