// Package figures has the arithmetic of the comparisons' tables: the median of several rounds, and
// how figures are rounded and written.
//
// The package knows no system and no table.
package figures
