package logreader

import "fmt"

// RecreatedError means that a topic was deleted and created again since the position: its offsets
// are those of another log.
type RecreatedError struct {
	Topic     string
	Partition int32
	Was, Is   TopicID
}

func (e *RecreatedError) Error() string {
	return fmt.Sprintf(
		"%s was deleted and created again: partition %d was read from the topic with id %s, and the topic now has id %s. Nothing was skipped. The other partitions continue", e.Topic, e.Partition, e.Was, e.Is)
}

// PartitionsError means that a topic has another number of partitions than Config.Partitions.
type PartitionsError struct {
	Topic     string
	Has, Want int
}

func (e *PartitionsError) Error() string {
	return fmt.Sprintf("%s has %d partitions, and %d are expected: a key may be in another partition there. Nothing was skipped", e.Topic,
		e.Has, e.Want)
}

// TruncatedError means that the brokers have lost records that were read: the log ends before the
// position, or has other records at their offsets. It lasts, also when the log has grown.
type TruncatedError struct {
	Topic     string
	Partition int32
	Next      int64 // the position
	// Resume is the next offset to read: that of the first record that is known not to be the one
	// that was read, or of the first record of the log if none is known to be the same.
	Resume int64
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf(
		"%s[%d] was read up to offset %d, and from offset %d on its log has ended or has other records: its brokers have lost records that were read. Offset %d is the next to read. Nothing was skipped. The other partitions continue",
		e.Topic, e.Partition, e.Next, e.Resume, e.Resume)
}
