// Package storetest damages the files of a store, for tests of the store and the runtime.
package storetest
