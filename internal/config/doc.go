// Package config loads, checks and prints the settings of a weir process.
//
//	default < file (YAML) < environment (WEIR_...) < flags
//	                 │
//	               Load ──▶ a valid *Config, or an *Error with all problems
//
// The struct Config is the only definition of the settings. Its tags hold default, unit, range and
// description. The name of an environment variable follows from the key: kafka.tls.ca_file is
// WEIR_KAFKA_TLS_CA_FILE.
//
// Invariants:
//
//  1. An unknown key is refused in every source, with the most similar key as a suggestion. So is a
//     key that occurs twice in one file.
//  2. Every setting of a Config from Load is in its documented range, and the settings are
//     consistent with each other.
//  3. No secret is ever printed, neither by Print nor in an error nor by package fmt. A secret
//     comes from the environment or from a file of its own, never from a flag or the configuration
//     file.
//
// The package does not watch files and does not use the settings: other packages take plain values.
package config
