// Package render writes the answers of package api for programs and for people.
//
//	weirpb message ──SpendJSON, HealthJSON, PartitionsJSON────▶ one JSON object, plain numbers
//	               ──SpendTable, HealthTable, PartitionsTable─▶ text for a terminal
//
// Invariants:
//
//  1. Money is written exactly, from its micros, without a float on the way (Money).
//  2. JSON has every field always, under the proto's names, and integers as numbers. (Proto JSON writes 64-bit integers
//     as strings and leaves zeros out; scripts want neither.) What is not known is null.
//  3. Text shows no control character that came from data: a campaign's name cannot steer the terminal.
//
// It does not call the API, read flags or choose between formats: package cmd/weir does.
package render
