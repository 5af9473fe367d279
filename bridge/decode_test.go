package bridge

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// value makes an attribute of a JSON value: string, number, map or list. Other values become a
// boolean.
func value(v any) streamtypes.AttributeValue {
	switch v := v.(type) {
	case string:
		return &streamtypes.AttributeValueMemberS{Value: v}
	case json.Number:
		return &streamtypes.AttributeValueMemberN{Value: string(v)}
	case map[string]any:
		return &streamtypes.AttributeValueMemberM{Value: attributes(v)}
	case []any:
		list := &streamtypes.AttributeValueMemberL{}
		for _, e := range v {
			list.Value = append(list.Value, value(e))
		}
		return list
	}
	return &streamtypes.AttributeValueMemberBOOL{}
}

func attributes(m map[string]any) map[string]streamtypes.AttributeValue {
	if m == nil {
		return nil
	}
	out := map[string]streamtypes.AttributeValue{}
	for k, v := range m {
		out[k] = value(v)
	}
	return out
}

func parse(t testing.TB, text string) map[string]streamtypes.AttributeValue {
	t.Helper()
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatal(err, text)
	}
	return attributes(m)
}

func recordOf(t testing.TB, p lease.PrimaryKey, old, now string) *streamtypes.Record {
	r := &streamtypes.Record{EventName: streamtypes.OperationTypeModify, Dynamodb: &streamtypes.StreamRecord{
		Keys: attributes(map[string]any{"pk": p.Partition, "sk": p.Sort}), OldImage: parse(t, old), NewImage: parse(t, now), SequenceNumber: aws.String("7"),
	}}
	if now == "" {
		r.EventName = streamtypes.OperationTypeRemove
	}
	return r
}

// decoded returns what the decoder makes of a record: the outcome and the changes, or the reason of
// the rejection. A change for all partitions is returned once.
func decoded(t testing.TB, r *streamtypes.Record) (outcome string, list []*eventspb.LeaseChange, d *batch) {
	x, d := decoder{home, 4}, &batch{}
	outcome, reason := x.record(d, streamPos{"s", "7", 1234}, r, 9999)
	for i := range d.List {
		o := &d.List[i]
		if o.Output() == events.LeaseRejectedTopic {
			l := &eventspb.LeaseReject{}
			if err := proto.Unmarshal(o.Value, l); err != nil || l.Reason != reason || l.Shard != "s" || l.Sequence != "7" || l.Region != home || l.AtMs != 1234 {
				t.Errorf("%v: %v", err, l)
			}
			return reason, nil, d
		}
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(o.Value, c); err != nil {
			t.Error(err)
		}
		want := events.LeaseShard(c.Client, c.Pool, 4)
		if c.GetRegionRow() != nil {
			if want = int32(i % 4); len(d.List)%4 != 0 {
				t.Errorf("%d changes of a region for 4 partitions", len(d.List))
			}
		}
		if o.To.Partition != want {
			t.Errorf("partition %d, want %d", o.To.Partition, want)
		}
		if c.GetRegionRow() == nil || i%4 == 0 {
			list = append(list, c)
		}
	}
	return outcome, list, d
}

func TestDecode(t *testing.T) {
	resource, key := lease.ResourceRow("c#", "r"), lease.PrimaryKey{Partition: lease.KeyPartition("c", "p", "k"), Sort: home}
	demand := lease.PrimaryKey{Partition: lease.DemandRow("c", "p", "eu").Partition, Sort: home}
	const w = `"writer_region":"eu-west-1","version":5`
	for name, c := range map[string]struct {
		p        lease.PrimaryKey
		old, now string
		outcome  string
		want     []*eventspb.LeaseChange
	}{
		"resource": {resource, `{"version":4,"pool_id":"p"}`, `{` + w + `,"pool_id":"p","owner_region":"us","holder":"p#k","lease_expires_ms":77,"unknown":[1]}`, outcomeChange, []*eventspb.LeaseChange{
			{Client: "c#", Pool: "p", Row: &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{Resource: "r", Version: 5, Owner: "us", Holder: "p#k", ExpiresMs: 77}}},
		}},
		"to another pool": {resource, `{"version":4,"pool_id":"q"}`, `{` + w + `,"pool_id":"p","owner_region":"us","lease_available_ms":3}`, outcomeChange, []*eventspb.LeaseChange{
			{Client: "c#", Pool: "q", Gone: true, Row: &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{Resource: "r", Version: 5, Owner: "us", AvailableMs: 3}}},
			{Client: "c#", Pool: "p", Row: &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{Resource: "r", Version: 5, Owner: "us", AvailableMs: 3}}},
		}},
		"deleted": {key, `{` + w + `,"state":"leased"}`, "", outcomeChange, []*eventspb.LeaseChange{
			{Client: "c", Pool: "p", Gone: true, Row: &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{Key: "k", Region: home, Version: 6, State: "leased"}}},
		}},
		"key": {key, "", `{` + w + `,"state":"superseded","resource":"r","resource_version":3,"lease_expires_ms":8,"granted_ms":2,"winner_region":"us"}`, outcomeChange, []*eventspb.LeaseChange{
			{Client: "c", Pool: "p", Row: &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{
				Key: "k", Region: home, Version: 5, State: "superseded", Resource: "r", ResourceVersion: 3, ExpiresMs: 8, GrantedMs: 2, Winner: "us",
			}}},
		}},
		"pool": {lease.PoolRow("c", "p#"), "", `{` + w + `,"longest_lease_ms":1,"quarantine_ms":2,"buckets":3,"floors":{"us":4},"balance":"on","duplicates":"observe","forecast":"holt"}`, outcomeChange, []*eventspb.LeaseChange{
			{Client: "c", Pool: "p#", Row: &eventspb.LeaseChange_Settings{Settings: &eventspb.LeasePool{
				Version: 5, LongestLeaseMs: 1, QuarantineMs: 2, Buckets: 3, Floors: map[string]int64{"us": 4}, Balance: "on", Duplicates: "observe", Forecast: "holt",
			}}},
		}},
		"region": {lease.RegionRow("us"), "", `{` + w + `,"region_state":"adopted","swing_to":"ap","swing_percent":20,"adopted_by":"eu-west-1"}`, outcomeChange, []*eventspb.LeaseChange{
			{Row: &eventspb.LeaseChange_RegionRow{RegionRow: &eventspb.LeaseRegion{Region: "us", Version: 5, State: "adopted", SwingTo: "ap", SwingPercent: 20, AdoptedBy: home}}},
		}},
		"demand": {demand, `{"refused_total":1}`, `{"writer_region":"eu-west-1","refused_total":12}`, outcomeChange, []*eventspb.LeaseChange{
			{Client: "c", Pool: "p", Row: &eventspb.LeaseChange_Demand{Demand: &eventspb.LeaseDemand{Region: home, Refused: 12}}},
		}},
		"another region's":          {resource, "", `{"writer_region":"us","version":"x"}`, outcomeForeign, nil},
		"another region's removal":  {resource, `{"writer_region":"us","version":5}`, "", outcomeForeign, nil},
		"client":                    {lease.ClientRow("c"), "", `{"x":1}`, outcomeSkipped, nil},
		"import":                    {lease.ImportRow("c", "x"), "", `{"x":1}`, outcomeSkipped, nil},
		"heartbeat":                 {lease.HeartbeatRow("us"), "", `{"writer_region":"us","heartbeat_ms":1}`, outcomeHeartbeat, nil},
		"heartbeat removed":         {lease.HeartbeatRow("us"), `{"heartbeat_ms":1}`, "", outcomeSkipped, nil},
		"heartbeat without a time":  {lease.HeartbeatRow("us"), "", `{"heartbeat_ms":0}`, ReasonMissing, nil},
		"heartbeat of another type": {lease.HeartbeatRow("us"), "", `{"heartbeat_ms":"1"}`, ReasonType, nil},
		"no row of ours":            {lease.PrimaryKey{Partition: "user#1", Sort: "x"}, "", `{` + w + `}`, ReasonPartition, nil},
		"no writer":                 {resource, "", `{"version":1}`, ReasonWriter, nil},
		"writer is a number":        {resource, "", `{"writer_region":1}`, ReasonType, nil},
		"no version":                {resource, "", `{"writer_region":"eu-west-1","pool_id":"p","owner_region":"us"}`, ReasonVersion, nil},
		"version is text":           {resource, "", `{"writer_region":"eu-west-1","version":"5","pool_id":"p","owner_region":"us"}`, ReasonType, nil},
		"version with a fraction":   {resource, "", `{"writer_region":"eu-west-1","version":5.5,"pool_id":"p","owner_region":"us"}`, ReasonNumber, nil},
		"version is too great":      {resource, "", `{"writer_region":"eu-west-1","version":9223372036854775808,"pool_id":"p","owner_region":"us"}`, ReasonNumber, nil},
		"same version":              {resource, `{"version":5}`, `{` + w + `,"pool_id":"p","owner_region":"us"}`, ReasonStale, nil},
		"lesser version":            {resource, `{"version":6}`, `{` + w + `,"pool_id":"p","owner_region":"us"}`, ReasonStale, nil},
		"no pool":                   {resource, "", `{` + w + `,"owner_region":"us"}`, ReasonMissing, nil},
		"no owner":                  {resource, "", `{` + w + `,"pool_id":"p"}`, ReasonMissing, nil},
		"pool is a number":          {resource, "", `{` + w + `,"pool_id":1,"owner_region":"us"}`, ReasonType, nil},
		"floors are a list":         {lease.PoolRow("c", "p"), "", `{` + w + `,"floors":[]}`, ReasonType, nil},
		"a floor is text":           {lease.PoolRow("c", "p"), "", `{` + w + `,"floors":{"us":"1"}}`, ReasonType, nil},
		"buckets of 33 bits":        {lease.PoolRow("c", "p"), "", `{` + w + `,"buckets":4294967296}`, ReasonNumber, nil},
		"too large":                 {resource, "", `{` + w + `,"pool_id":"p","owner_region":"us","holder":"` + strings.Repeat("x", 70_000) + `"}`, ReasonSize, nil},
		"keys only":                 {resource, "", `{}`, ReasonImage, nil},
	} {
		outcome, list, d := decoded(t, recordOf(t, c.p, c.old, c.now))
		if outcome != c.outcome || len(list) != len(c.want) {
			t.Errorf("%s: %s, %v", name, outcome, list)
			continue
		}
		for i, want := range c.want {
			if want.Region, want.AtMs = home, 1234; !proto.Equal(want, list[i]) {
				t.Errorf("%s:\n got %v\nwant %v", name, list[i], want)
			}
		}
		if outcome == outcomeHeartbeat && (len(d.heartbeats) != 1 || d.heartbeats[0] != heartbeat{"us", 1, 9999}) {
			t.Errorf("%s: %v", name, d.heartbeats)
		}
	}
	for name, r := range map[string]*streamtypes.Record{
		ReasonKey: {Dynamodb: &streamtypes.StreamRecord{Keys: map[string]streamtypes.AttributeValue{"pk": &streamtypes.AttributeValueMemberN{Value: "1"}}}}, ReasonImage: {},
	} {
		if outcome, _, _ := decoded(t, r); outcome != name {
			t.Errorf("%s: %s", name, outcome)
		}
	}
}

// FuzzDecode holds that any record is decoded or rejected with a reason, that a decoded change has
// what readers rely on, and that the item of the table gives the same change as that of the stream.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(0), "c", "p", "k", int64(1), int64(2), "5", "us", true, []byte(`{"a":1}`))
	f.Add(uint8(1), "c#", "%", "#", int64(math.MaxInt64), int64(0), "1e3", "eu-west-1", false, []byte{0xff})
	f.Fuzz(func(t *testing.T, sort uint8, client, pool, key string, version, old int64, digits, region string, remove bool, junk []byte) {
		p := []lease.PrimaryKey{
			lease.ResourceRow(client, key),
			{Partition: lease.KeyPartition(client, pool, key), Sort: region},
			lease.PoolRow(client, pool), lease.RegionRow(region),
			lease.HeartbeatRow(region),
			{Partition: lease.DemandRow(client, pool, "eu").Partition, Sort: region},
			{Partition: client, Sort: key},
			{Partition: string(junk), Sort: pool},
		}[sort%8]
		item := table.Item{
			table.PK: table.S(p.Partition), table.SK: table.S(p.Sort), table.WriterRegion: table.S(home), table.Version: table.N(version),
			table.PoolID: table.S(pool), table.Owner: table.S(region), table.State: table.S("leased"), table.ExpiresMs: table.Decimal(digits),
			table.HeartbeatMs: table.Decimal(digits), table.RefusedTotal: table.Decimal(digits), table.Holder: table.S(string(junk)),
			table.Floors: &types.AttributeValueMemberM{Value: table.Item{region: table.Decimal(digits)}},
		}
		image := map[string]streamtypes.AttributeValue{}
		for name, v := range item {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				image[name] = &streamtypes.AttributeValueMemberS{Value: v.Value}
			case *types.AttributeValueMemberN:
				image[name] = &streamtypes.AttributeValueMemberN{Value: v.Value}
			default:
				image[name] = &streamtypes.AttributeValueMemberM{Value: map[string]streamtypes.AttributeValue{region: &streamtypes.AttributeValueMemberN{Value: digits}}}
			}
		}
		r := &streamtypes.Record{EventName: streamtypes.OperationTypeModify, Dynamodb: &streamtypes.StreamRecord{
			SequenceNumber: aws.String("7"), NewImage: image, OldImage: map[string]streamtypes.AttributeValue{table.Version: value(json.Number(table.N(old).(*types.AttributeValueMemberN).Value))},
			Keys: map[string]streamtypes.AttributeValue{table.PK: image[table.PK], table.SK: image[table.SK]},
		}}
		if remove {
			r.EventName, r.Dynamodb.OldImage, r.Dynamodb.NewImage = streamtypes.OperationTypeRemove, image, nil
		}
		outcome, list, _ := decoded(t, r)
		for _, c := range list {
			if of := rowOf(p); of.kind.versioned() && versionOf(c) < 1 || c.Gone != remove {
				t.Errorf("%s: %v", outcome, c)
			}
		}
		x, d := decoder{home, 4}, &batch{}
		if scanned := x.scanned(d, item, 1234); outcome == outcomeChange && !remove {
			want := 1
			if rowOf(p).kind == regionRow {
				want = 4
			}
			c := &eventspb.LeaseChange{}
			if len(d.List) != want || proto.Unmarshal(d.List[0].Value, c) != nil || !c.Scanned {
				t.Fatalf("the item of the stream gives a change, that of the table %s: %v", scanned, d.List)
			}
			if c.Scanned = false; !proto.Equal(c, list[0]) {
				t.Errorf("stream: %v\ntable: %v", list[0], c)
			}
		}
	})
}
