// Package child builds the programs that the comparisons run, and runs them as child processes.
//
//	repository ──▶ go build, mvn package ──▶ program ──▶ child process ──▶ output, peak memory
//
// The package measures nothing but memory: each comparison has its own clock and its own checker.
package child
