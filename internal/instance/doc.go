// Package instance has the default of the instance name of a process.
package instance
