package bridge

import (
	"encoding/json"
	"strings"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// Numbers of the state tables. Values are JSON: there are few rows, and operators read them.
const (
	shardTable  byte = 1
	streamTable byte = 2
	scanTable   byte = 3
)

// Keys of scanTable.
const (
	scanKey        = "scan"
	sweepKey       = "sweep"
	scanRequestKey = "asked"
	regionKey      = "region"
)

// tables are the state tables of a bridge.
type tables struct {
	shards      *state.Table[string, shard]       // by shardKey
	streams     *state.Table[string, streamState] // by ARN
	scans       *state.Table[string, scanState]   // by scanKey and sweepKey
	scanRequest *state.Table[string, scanRequest] // by scanRequestKey
	// region, by regionKey, is the region to which the positions belong.
	region *state.Table[string, string]
}

func newTables() tables {
	key := state.String{}
	return tables{
		shards:      state.NewTable(shardTable, key, state.JSON[shard]{}),
		streams:     state.NewTable(streamTable, key, state.JSON[streamState]{}),
		scans:       state.NewTable(scanTable, key, state.JSON[scanState]{}),
		scanRequest: state.NewTable(scanTable, key, state.JSON[scanRequest]{}),
		region:      state.NewTable(scanTable, key, state.JSON[string]{}),
	}
}

// tableInfos describes the tables to people. Rows of scanTable have several types.
func tableInfos() []stream.TableInfo {
	t, key := newTables(), state.String{}
	return []stream.TableInfo{
		t.shards.Describe("shards"), t.streams.Describe("streams"),
		state.NewTable(scanTable, key, state.JSON[json.RawMessage]{}).Describe("scans"),
	}
}

// shardKey is the key of a shard in tables.shards.
func shardKey(streamARN, shardID string) string { return streamARN + "\x00" + shardID }

// shard is the position in a shard: what of it was handed over. Times are Unix ms.
type shard struct {
	ID         string `json:"-"`
	Parent     string `json:"parent,omitempty"`
	After      string `json:"after,omitempty"` // sequence number of the last record handed over
	AfterMs    int64  `json:"after_ms,omitempty"`
	FoundMs    int64  `json:"found_ms,omitempty"`
	FinishedMs int64  `json:"finished_ms,omitempty"` // when its end was read; 0 before
}

// streamState is one of the streams that the table has had. Times are Unix ms.
type streamState struct {
	BegunMs int64 `json:"begun_ms"`
	DoneMs  int64 `json:"done_ms,omitempty"` // when its end was read; 0 before
}

// scanState is the progress of a scan or sweep of the table.
type scanState struct {
	StartedMs int64  `json:"started_ms"`
	PK        string `json:"pk,omitempty"` // of the last row that was read
	SK        string `json:"sk,omitempty"`
	Rows      int64  `json:"rows"` // rows of this region so far
	Done      bool   `json:"done,omitempty"`
}

// scanRequest is the latest request for a scan, for one that begins at SinceMs or later.
type scanRequest struct {
	SinceMs int64  `json:"since_ms"`
	Why     string `json:"why"`
}

// savedState is the committed state of a task.
type savedState struct {
	shards      map[string][]shard // by the ARN of the stream
	streams     map[string]streamState
	scan, sweep scanState
	scanRequest scanRequest
	region      string // "" at the first start
}

func (t *tables) load(task stream.Task) (savedState, error) {
	s := savedState{shards: map[string][]shard{}, streams: map[string]streamState{}}
	err := t.shards.Scan(task.Range, func(key string, one shard) error {
		arn, id, _ := strings.Cut(key, "\x00")
		one.ID = id
		s.shards[arn] = append(s.shards[arn], one)
		return nil
	})
	if err == nil {
		err = t.streams.Scan(task.Range, func(arn string, one streamState) error {
			s.streams[arn] = one
			return nil
		})
	}
	if err == nil {
		s.scan, _, err = t.scans.Get(task.Get, scanKey)
	}
	if err == nil {
		s.sweep, _, err = t.scans.Get(task.Get, sweepKey)
	}
	if err == nil {
		s.scanRequest, _, err = t.scanRequest.Get(task.Get, scanRequestKey)
	}
	if err == nil {
		s.region, _, err = t.region.Get(task.Get, regionKey)
	}
	return s, err //nolint:wrapcheck // New names the state
}
