// Package svg writes simple pictures: texts, lines and curves, with colours for light and dark
// surroundings. It does not know what a picture shows.
package svg
