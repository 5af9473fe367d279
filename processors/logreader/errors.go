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

// TruncatedError means that the log of a partition ends before the position: the brokers have lost
// records that were read, and new records may take their offsets.
type TruncatedError struct {
	Topic     string
	Partition int32
	Next, End int64 // the position, and the end of the log
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf(
		"%s[%d] ends at offset %d, and was read up to offset %d: its brokers have lost records that were read. Nothing was skipped. The other partitions continue", e.Topic, e.Partition, e.End, e.Next)
}
