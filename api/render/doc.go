// Package render formats the answers of package api for programs and for terminals.
//
//	weirpb message ──SpendJSON, HealthJSON, PartitionsJSON────▶ one JSON object, plain numbers
//	               ──SpendTable, HealthTable, PartitionsTable─▶ text for a terminal
//
// Invariants:
//
//  1. Money is formatted exactly, from its micros, without a float (Money).
//  2. JSON always has every field, under the proto's names, and integers as numbers. (Proto JSON
//     writes 64-bit integers as strings and omits zeros, which is inconvenient for scripts.)
//     Unknown values are null.
//  3. Text has no control character that came from data, so a campaign's name cannot control the
//     terminal.
//
// It does not call the API, read flags or choose between formats: the commands do.
package render
