// Package slogger makes a zerolog.Logger that writes to a slog.Handler, so that a program with
// log/slog receives the log of weir's packages, which is written with zerolog.
//
//	zerolog event ─▶ JSON ─▶ slog.Record: level, message, fields in their order ─▶ slog.Handler
//
// Trace becomes slog.LevelDebug-4, fatal and panic become slog.LevelError+4. The levels that the
// handler takes are read once, when the logger is made.
package slogger
