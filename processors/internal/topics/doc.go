// Package topics checks that the topics of a processor exist and fit together.
//
//	Processor ──▶ Await ──▶ number of tasks
//
// Invariants:
//
//  1. Inputs, changelog and dead-letter topic have the same number of partitions, because partition
//     p of each belongs to task p. Outputs may have any number.
//  2. Nothing is created or changed.
package topics
