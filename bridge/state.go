package bridge

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weirhq/weir/stream"
)

// Tables of the state. Values are JSON: they are few, and people read them when something is wrong.
const (
	shardTable  byte = 1 // stream's ARN, a zero byte, shard's id: shard
	streamTable byte = 2 // stream's ARN: streamState
	scanTable   byte = 3 // scanKey, sweepKey: scanState; askedKey: asked; regionKey: string
)

const (
	scanKey        = "scan"
	sweepKey       = "sweep"
	scanRequestKey = "asked"
	// regionKey is whose bridge it is: positions of one region are none of another's.
	regionKey = "region"
)

// shard is how far a shard was handed over. Times are Unix ms.
type shard struct {
	ID         string `json:"-"`
	Parent     string `json:"parent,omitempty"`
	After      string `json:"after,omitempty"` // sequence number of its last record handed over
	AfterMs    int64  `json:"after_ms,omitempty"`
	FoundMs    int64  `json:"found_ms,omitempty"`
	FinishedMs int64  `json:"finished_ms,omitempty"` // when its end was; 0 before
}

// streamState is one of the streams that the table has had.
type streamState struct {
	BegunMs int64 `json:"begun_ms"`
	DoneMs  int64 `json:"done_ms,omitempty"` // when its end was; 0 before
}

// scanState is how far a scan or a sweep of the table is.
type scanState struct {
	StartedMs int64  `json:"started_ms"`
	PK        string `json:"pk,omitempty"` // of the last row that was read
	SK        string `json:"sk,omitempty"`
	Rows      int64  `json:"rows"` // of this region so far
	Done      bool   `json:"done,omitempty"`
}

// scanRequest is the last request for a scan: for one that began at SinceMs or later.
type scanRequest struct {
	SinceMs int64  `json:"since_ms"`
	Why     string `json:"why"`
}

// savedState is the state as a task finds it.
type savedState struct {
	shards      map[string][]shard // by stream
	streams     map[string]streamState
	scan, sweep scanState
	scanRequest scanRequest
	region      string // "" at the first start
}

func load(task stream.Task) (savedState, error) {
	s := savedState{shards: map[string][]shard{}, streams: map[string]streamState{}}
	err := task.Scan(shardTable, nil, func(key, value []byte) error {
		arn, id, _ := strings.Cut(string(key), "\x00")
		one := shard{}
		if err := decode(key, value, &one); err != nil {
			return err
		}
		one.ID = id
		s.shards[arn] = append(s.shards[arn], one)
		return nil
	})
	if err != nil {
		return s, err
	}
	err = task.Scan(streamTable, nil, func(key, value []byte) error {
		one := streamState{}
		err := decode(key, value, &one)
		s.streams[string(key)] = one
		return err
	})
	if err != nil {
		return s, err
	}
	for key, to := range map[string]any{scanKey: &s.scan, sweepKey: &s.sweep, scanRequestKey: &s.scanRequest, regionKey: &s.region} {
		value, err := task.Get(scanTable, []byte(key))
		if err == nil && value != nil {
			err = decode([]byte(key), value, to)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func decode(key, value []byte, to any) error {
	if err := json.Unmarshal(value, to); err != nil {
		return fmt.Errorf("bridge: state %q is %.200q: %w", key, value, err)
	}
	return nil
}

func encode(v any) []byte {
	value, err := json.Marshal(v)
	if err != nil {
		return nil // cannot be: they are strings and numbers
	}
	return value
}

func shardEntry(arn string, s shard) entry {
	return entry{shardTable, arn + "\x00" + s.ID, encode(s)}
}

func scanEntry(key string, s scanState) entry { return entry{scanTable, key, encode(s)} }
