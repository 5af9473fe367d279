// Package kafkaadmin holds the operator's tasks on Kafka: topics, lag, dead letters, and checks of
// the cluster and the disk. The commands `weir topics`, `weir lag`, `weir dlq` and `weir doctor`
// use it.
//
//	processors     ─▶ FitTopics ─▶ []stream.Topic ─▶ CreateMissing  create; existing topics stay as they are
//	[]stream.Topic ─▶ PlanTopics ─▶ []TopicStep ─▶ ApplySteps     create and alter; conflicts are only reported
//	group, inputs  ─▶ Lag ─▶ []PartitionLag                       positions, lag and owner of each partition
//	<app>.dlq      ─▶ ListDeadLetters ─▶ []DeadLetter
//	                    ├─▶ ReplayDeadLetters                     record to its origin + tombstone: one transaction
//	                    └─▶ DropDeadLetters                       tombstone with operator and reason
//	group, input   ─▶ PlanSkip ─▶ SkipPlan ─▶ ApplySkip              an instruction to the owner, in the changelog
//	brokers, disk  ─▶ Doctor ─▶ []Check                           findings, each with a remedy
//
// Invariants:
//
//   - RUN-42: A dead letter is replayed at most once, and it is resolved if and only if it was
//     replayed or dropped: the record and the tombstone are one transaction. All replays and drops
//     of an application share one transactional id. An operation first acquires the id, which
//     aborts the transaction of an earlier session and fences every other session. Then it reads
//     the topic again, up to the high watermark, and leaves out resolved dead letters. Of two
//     concurrent operators one receives ErrTakenOver. After a crash a second attempt resolves the
//     dead letters that are left.
//   - RUN-43: A read of a dead-letter topic is exact: it ends at offsets, not after a time without
//     records, and passes the gaps that compaction left.
//   - RUN-44: A skip leaves out no record that PlanSkip can read.
//   - RUN-45: Nothing is deleted, and no number of partitions is changed.
//
// It does not reset offsets, move replicas or write ACLs (Doctor prints the ACLs that are needed).
package kafkaadmin
