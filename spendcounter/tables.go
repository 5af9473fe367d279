package spendcounter

import (
	"bytes"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// tables describes the tables to people. shards is the number of partitions.
func tables(shards int32) []stream.TableInfo {
	return []stream.TableInfo{
		{
			Number: TableSpend, Name: "spend", Key: spendKeyJSON, Value: state.ToJSON(state.Proto[*eventspb.Spend]{}),
			Partition: func(key []byte) (int32, bool) {
				account, _, _, _, err := ParseKey(key)
				return events.ShardBytes(account, shards), err == nil
			},
		},
		{Number: TableTask, Name: "task", Value: state.ToJSON(state.Proto[*spendpb.TaskState]{})},
		{Number: TableMovedIDs, Name: "moved_ids"},
		{
			Number: TableCampaigns, Name: "campaigns",
			Partition: func(key []byte) (int32, bool) {
				_, account, err := ParseIndexKey(key)
				return events.ShardBytes(account, shards), err == nil
			},
		},
		{Number: TableRanking, Name: "ranking", Key: rankingKeyJSON},
		{Number: TableBuckets, Name: "buckets", Value: state.ToJSON(state.Proto[*spendpb.Bucket]{})},
		{
			Number: TableReferences, Name: "references", Value: referenceJSON,
			Partition: func(key []byte) (int32, bool) {
				account, _, ok := bytes.Cut(key, []byte{0})
				return events.ShardBytes(account, shards), ok
			},
		},
		{Number: TableImports, Name: "imports"},
		{
			Number: TableHours, Name: "hours", Key: hourKeyJSON, Value: state.ToJSON(state.Proto[*eventspb.SpendHour]{}),
			Partition: func(key []byte) (int32, bool) {
				account, _, ok := bytes.Cut(key, []byte{0})
				return events.ShardBytes(account, shards), ok
			},
		},
		{Number: TableTotals, Name: "totals", Key: totalKeyJSON, Value: state.ToJSON(state.Proto[*spendpb.Total]{})},
		{
			Number: TableParts, Name: "parts", Key: partKeyJSON, Value: state.ToJSON(state.Proto[*eventspb.SpendPart]{}),
			Partition: func(key []byte) (int32, bool) {
				account, _, ok := bytes.Cut(key, []byte{0})
				return events.ShardBytes(account, shards), ok
			},
		},
		{
			Number: TableHealth, Name: "health", Value: state.ToJSON(state.Proto[*eventspb.SpendHistogram]{}),
			Partition: func(key []byte) (int32, bool) {
				_, shard, err := ParseHealthKey(key)
				return shard, err == nil && shard < shards
			},
		},
		{Number: TableIDs, Name: "ids"},
		{Number: TableRings, Name: "rings", Value: state.ToJSON(state.Proto[*spendpb.LocalState]{})},
	}
}

// DatasetTables returns the numbers of the tables that make up the dataset of a counter: what
// readers and other datacentres need of spend.by.<dc>. Each value is a message of ads.proto with a
// schema and a version, see events.CompareVersions, so a reader can tell which of two rows is
// newer. The other tables are of the counter alone, or are made from the rows: the index of
// campaigns, the rankings and the totals.
func DatasetTables() []byte { return []byte{TableSpend, TableHours, TableParts, TableHealth} }

// referenceJSON shows a value of TableReferences.
func referenceJSON(value []byte) ([]byte, error) {
	applied, err := ParseReference(value)
	if err != nil {
		return nil, err
	}
	if value, err = proto.Marshal(applied); err != nil {
		return nil, err
	}
	return state.ToJSON(state.Proto[*spendpb.AppliedAdjustment]{})(value)
}

// spendKeyJSON shows a key of TableSpend.
func spendKeyJSON(key []byte) ([]byte, error) {
	account, campaign, day, currency, err := ParseKey(key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Account  string `json:"account"`
		Campaign string `json:"campaign"`
		Day      string `json:"day"`
		Currency string `json:"currency"`
	}{string(account), string(campaign), day.String(), currency.String()})
}

// rankingKeyJSON shows a key of TableRanking, which has the fields of a spend key.
func rankingKeyJSON(key []byte) ([]byte, error) {
	spendKey, err := ParseRankingKey(key)
	if err != nil {
		return nil, err
	}
	return spendKeyJSON(spendKey)
}

// totalKeyJSON shows a key of TableTotals.
func totalKeyJSON(key []byte) ([]byte, error) {
	day, currency, err := ParseTotalKey(key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Day      string `json:"day"`
		Currency string `json:"currency"`
	}{day.String(), currency.String()})
}

// hourKeyJSON shows a key of TableHours.
func hourKeyJSON(key []byte) ([]byte, error) {
	spendKey, hour, err := ParseHourKey(key)
	if err != nil {
		return nil, err
	}
	day, err := spendKeyJSON(spendKey)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Spend json.RawMessage `json:"spend"`
		Hour  time.Time       `json:"hour"`
	}{day, time.UnixMilli(int64(hour) * hourMs).UTC()})
}

// partKeyJSON shows a key of TableParts.
func partKeyJSON(key []byte) ([]byte, error) {
	spendKey, lineItem, arm, err := ParsePartKey(key)
	if err != nil {
		return nil, err
	}
	day, err := spendKeyJSON(spendKey)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Spend    json.RawMessage `json:"spend"`
		LineItem string          `json:"line_item"`
		Arm      string          `json:"arm"`
	}{day, string(lineItem), string(arm)})
}
