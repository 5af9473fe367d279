//go:build !synctests

package processorstest

const tagged = false
