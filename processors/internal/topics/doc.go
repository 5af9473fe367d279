// Package topics checks that the topics of a processor exist and fit together.
//
//	Processor ──▶ Await ──▶ number of tasks, ignored partitions
//
// Invariants:
//
//  1. Inputs, changelog and dead-letter topic have the same number of partitions, because partition
//     p of each belongs to task p. Outputs may have any number. If the processor states its number
//     of partitions and the changelog has that number, the others may have more: an administrator
//     added partitions. They are ignored, and reported.
//  2. Nothing is created or changed.
package topics
