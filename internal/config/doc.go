// Package config holds the settings of a weir process: where they come from, what they may be, and how to show them.
//
//	default < file (YAML) < environment (WEIR_...) < flags
//	                 │
//	           Load ─┴─▶ every problem at once, or a *Config that is valid as a whole
//
// The struct Config is the only place where a key is named: its tags carry default, unit, range and purpose, and the
// names in the environment follow from them (kafka.tls.ca_file is WEIR_KAFKA_TLS_CA_FILE).
//
// Invariants:
//
//  1. A key that does not exist is refused wherever it stands, with the nearest one that does. So is a key given twice
//     in one file.
//  2. A Config from Load lies within every documented range, and its settings agree with each other.
//  3. No secret is ever printed: neither by Print, nor in an error, nor by fmt. A secret comes from the environment or
//     from a file of its own, never from a flag or the configuration file.
//
// It does not watch files, and it does not know what the settings do: the packages that use them take plain values.
package config
