package queues

import (
	"encoding/binary"
	"errors"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// Tables of a shard. Keys begin with the name of the queue and a zero byte.
const (
	TableSettings byte = 1  // -> eventspb.JobQueueSettings
	TableQueues   byte = 2  // -> eventspb.JobQueueState
	TableNames    byte = 3  // name of a resource -> empty
	TableSegments byte = 4  // first number -> eventspb.JobSegment
	TableJobs     byte = 5  // number -> eventspb.StoredJob
	TableStatus   byte = 6  // number -> eventspb.JobStatus
	TablePayloads byte = 7  // number -> bytes; none: no payload
	TableResults  byte = 8  // number -> eventspb.JobResult
	TableRefusals byte = 9  // number -> eventspb.JobRefusal
	TableAgents   byte = 10 // name of an agent -> eventspb.JobAgent
	TableMeans    byte = 11 // signature -> eventspb.JobMean
	TableAlarms   byte = 12 // kind and subject of an alarm that is not over -> eventspb.JobAlarm
)

// jobTables are the tables that have a row for a job.
func jobTables() []byte {
	return []byte{TableJobs, TableStatus, TablePayloads, TableResults}
}

// tables has the tables with their codecs. It is safe for concurrent use.
type tables struct {
	settings *state.Table[[]byte, *eventspb.JobQueueSettings]
	queues   *state.Table[[]byte, *eventspb.JobQueueState]
	names    *state.Table[[]byte, []byte]
	segments *state.Table[[]byte, *eventspb.JobSegment]
	jobs     *state.Table[[]byte, *eventspb.StoredJob]
	status   *state.Table[[]byte, *eventspb.JobStatus]
	payloads *state.Table[[]byte, []byte]
	results  *state.Table[[]byte, *eventspb.JobResult]
	refusals *state.Table[[]byte, *eventspb.JobRefusal]
	agents   *state.Table[[]byte, *eventspb.JobAgent]
	means    *state.Table[[]byte, *eventspb.JobMean]
	alarms   *state.Table[[]byte, *eventspb.JobAlarm]
}

func newTables() *tables {
	b := state.Bytes{}
	return &tables{
		settings: state.Named(TableSettings, "settings", b, state.Proto[*eventspb.JobQueueSettings]{}),
		queues:   state.Named(TableQueues, "queues", b, state.Proto[*eventspb.JobQueueState]{}),
		names:    state.Named(TableNames, "names", b, b),
		segments: state.Named(TableSegments, "segments", b, state.Proto[*eventspb.JobSegment]{}),
		jobs:     state.Named(TableJobs, "jobs", b, state.Proto[*eventspb.StoredJob]{}),
		status:   state.Named(TableStatus, "status", b, state.Proto[*eventspb.JobStatus]{}),
		payloads: state.Named(TablePayloads, "payloads", b, b),
		results:  state.Named(TableResults, "results", b, state.Proto[*eventspb.JobResult]{}),
		refusals: state.Named(TableRefusals, "refusals", b, state.Proto[*eventspb.JobRefusal]{}),
		agents:   state.Named(TableAgents, "agents", b, state.Proto[*eventspb.JobAgent]{}),
		means:    state.Named(TableMeans, "means", b, state.Proto[*eventspb.JobMean]{}),
		alarms:   state.Named(TableAlarms, "alarms", b, state.Proto[*eventspb.JobAlarm]{}),
	}
}

func (t *tables) infos() []stream.TableInfo {
	return state.Tables(t.settings, t.queues, t.names, t.segments, t.jobs, t.status, t.payloads, t.results, t.refusals, t.agents, t.means,
		t.alarms)
}

// Prefix appends what the keys of a queue begin with.
func Prefix(dst []byte, queue string) []byte { return append(append(dst, queue...), 0) }

// NumberKey appends the key of a job or a segment.
func NumberKey(dst []byte, queue string, id jobqueue.ID) []byte {
	return binary.BigEndian.AppendUint64(Prefix(dst, queue), uint64(id))
}

// NameKey appends the key of a resource or an agent.
func NameKey(dst []byte, queue, name string) []byte { return append(Prefix(dst, queue), name...) }

// meanKey appends the key of a signature: the names, each with its length.
func meanKey(dst []byte, queue string, require, prefer []string) []byte {
	dst = binary.AppendUvarint(Prefix(dst, queue), uint64(len(require)))
	for _, names := range [][]string{require, prefer} {
		for _, name := range names {
			dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
		}
	}
	return dst
}

var errKey = errors.New("queues: the bytes are not a key of a queue")

// ParseNumberKey returns the queue and the number of a key of NumberKey.
func ParseNumberKey(key []byte) (queue string, id jobqueue.ID, err error) {
	n := len(key) - 9
	if n < 1 || key[n] != 0 {
		return "", 0, errKey
	}
	return string(key[:n]), jobqueue.ID(binary.BigEndian.Uint64(key[n+1:])), nil
}
