// Package program runs the processors of a program in one process:
//
//	func main() { program.Main(split(), count()) }
//
// Main reads flags. Config.Main is for a program that needs settings without a flag, such as
// Queries or TLS. Run reads no flags and writes no log. New returns the Program before it runs, so
// that the caller can register metrics:
//
//	list ─▶ New ─▶ Program.Run ─┬─▶ topics that are missing         created, with partitions that fit
//	                            ├─▶ processors.Runtime of each      state in Dir/<App>
//	                            ├─▶ api.Server, if it has an address  state, queries, partitions
//	                            └─▶ one registry of metrics          /metrics
//
// # Change the key
//
// All records of a key must be in one partition, because the partition's task has their state. If a
// processor needs records by another key, put a processor before it, which writes the records with
// that key to a topic between the two. Run creates this topic with as many partitions as its reader
// needs, and each record passes through both processors exactly once. Kafka does not delete records
// of this topic by age: see kafkaadmin.TopicOptions.Retention.
//
//	lines ─▶ split ─▶ words (key: the word) ─▶ count ─▶ counts
//
// examples/wordcount is this program.
//
// # Invariants
//
//   - RUN-48: The end of the context, and the first error of a processor or of the API, ends all
//     parts. Each processor commits what it has folded. Run returns after all of them, with the
//     first error, which names its processor.
//   - RUN-49: Existing topics are never changed. A topic that does not fit the processors is an
//     error before anything is created. So is a missing changelog whose consumer group has
//     committed offsets: the state is lost, and an operator has to decide. A cleanup policy that
//     differs is the log event topic_setting_differs.
//   - RUN-50: Processors of one program share nothing but the registry and the API: each is a
//     consumer group of its own, and other processes may run some of them alone, once the topics
//     exist. A process with a part of the list does not know all topics that belong together, and
//     could create topics with different numbers of partitions: let a process with the whole list
//     create them.
//
// # What it does not do
//
// It reads no configuration file and no environment, and connects to one Kafka cluster. It does not
// restart a processor that has ended: the process ends, and its supervisor starts it again. A
// partition that stops alone (processors.StateStopped) does not end it: /readyz, /metrics and
// Runtime.Status report such a partition.
package program
