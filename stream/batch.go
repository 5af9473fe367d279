package stream

// Record is one input record. Key and Value are valid until the fold returns.
type Record struct {
	Key, Value []byte
	Headers    []Header // nil for most records
	Offset     int64
	TimeMs     int64 // the record's own timestamp, Unix ms
}

// Header is a record header.
type Header struct {
	Key   string
	Value []byte
}

// Batch is a run of records of one topic and partition, in offset order.
type Batch struct {
	Topic     string
	Partition int32
	Records   []Record
	NowMs     int64 // wall time of the poll: for health figures only, never for state

	Rejects []Reject // the core's answer: records it did not fold
}

// Reject names a record that a core refused. The state must be as if the record had never been there.
type Reject struct {
	Index  int    // in Batch.Records
	Reason string // closed set, e.g. "negative_price": becomes a metric label and the DLQ's reason
	Detail string // for a person
}

// Reject refuses record i.
func (b *Batch) Reject(i int, reason, detail string) {
	b.Rejects = append(b.Rejects, Reject{Index: i, Reason: reason, Detail: detail})
}

// Get reads committed state: the value of key in table, nil if there is none. The slice belongs to the caller.
type Get func(table byte, key []byte) ([]byte, error)

// Scan calls fn for each key of table that begins with prefix, in order, until fn returns an error.
// Key and value are valid during the call only.
type Scan func(table byte, prefix []byte, fn func(key, value []byte) error) error

// Task is what a core gets when it takes over a partition.
type Task struct {
	Partition  int32
	OwnerEpoch uint64
	Next       map[string]int64 // next input offset per topic, as committed; 0 where nothing was committed
	LocalNext  map[string]int64 // local tables hold what came before these offsets; nil: they are gone
	Get        Get
	Scan       Scan
	Timers     Timers // for a core that has Fire; nil for others
}

// Commit is what a core learns when the runtime is about to commit.
type Commit struct {
	NowMs      int64 // wall time: for health figures and their schedule only
	OwnerEpoch uint64
	Sequence   uint64           // of this task's transaction
	Next       map[string]int64 // next input offset per topic once this commit is done
}
