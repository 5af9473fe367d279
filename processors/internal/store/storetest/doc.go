// Package storetest damages the files of a store, for tests of how the store and the runtime survive it.
package storetest
