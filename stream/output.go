package stream

// Output is a topic that a processor writes.
type Output struct {
	// Name is what Changes.Emit calls the output. A name stays when the topic gets another one, as
	// in a replay or a new generation. Defaults to Topic.
	Name string
	// Topic is the Kafka topic.
	Topic string
	// Partitioner chooses the partition of a record with a key. Defaults to Murmur2.
	Partitioner Partitioner
}

// OutputTopics returns outputs that are named like their topics and use the default partitioner.
func OutputTopics(topics ...string) []Output {
	list := make([]Output, len(topics))
	for i, t := range topics {
		list[i] = Output{Name: t, Topic: t}
	}
	return list
}

// Message is a record to be written to an output.
type Message struct {
	// Key chooses the partition in Changes.Emit. A nil key is a record without a key; an empty key
	// is a key.
	Key []byte
	// Value nil is a tombstone: it deletes the key in a compacted topic.
	Value   []byte
	Headers []Header
	// TimeMs is the record's timestamp, Unix ms. 0 is the time of the commit.
	TimeMs int64
}

// ByPartitioner is the Destination.Partition of a record whose partition the output's partitioner
// chooses.
const ByPartitioner int32 = -1

// Destination is where a Change of OpEmit goes. A test reads it from the changes of
// streamtest.Runner.TakeOutputs.
type Destination struct {
	Output    *Output
	Partition int32 // ByPartitioner, or a partition number
	Headers   []Header
	TimeMs    int64 // Unix ms; 0: the time of the commit
}

// PartitionOf returns the partition of a record with this key, of so many partitions of the
// output's topic: the explicit one, the partitioner's choice, or for a record without a key the
// number of the task modulo the number of partitions. It does not check that the partition exists.
func (d *Destination) PartitionOf(key []byte, task, partitions int32) int32 {
	switch {
	case d.Partition != ByPartitioner:
		return d.Partition
	case key == nil:
		return task % partitions
	case d.Output.Partitioner != nil:
		return d.Output.Partitioner(key, partitions)
	}
	return Murmur2(key, partitions)
}
