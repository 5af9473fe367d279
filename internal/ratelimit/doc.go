// Package ratelimit is an adaptive rate limiter for bulk writes to DynamoDB. It finds the rate that
// a table accepts without throttling.
//
//	Wait(n) ──▶ n writes ──▶ Throttled(number of refused writes) ──▶ the rate adapts
//
// The rate doubles until the table throttles for the first time. From then on it decreases by a
// factor and increases slowly, so that several writers on one table converge to equal shares.
//
// The package does not retry writes and does not know what is written.
package ratelimit
