// Package topics checks that the topics of a processor exist and fit together, and that they have
// the settings that they need.
//
//	Processor ──▶ Await ──▶ number of tasks, ignored partitions
//	topics ──▶ Describe, Differing ──▶ settings that differ
//
// Invariants:
//
//   - RUN-46: Inputs, changelog and dead-letter topic have the same number of partitions, because
//     partition p of each belongs to task p. Outputs may have any number. If the processor states
//     its number of partitions and the state has that number, the topics may have more: an
//     administrator added partitions. They are ignored, and reported. The state has as many
//     partitions as the changelog has partitions with records. If that number is not certain, the
//     group's offsets record it.
//   - RUN-47: Nothing is created or changed.
package topics
