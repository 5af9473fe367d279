package override

import (
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

func example() *eventspb.LeaderOverride {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	return &eventspb.LeaderOverride{
		Shard: 7, Leader: "b", Who: "ana", Why: "disk of a is slow", AtMs: at.UnixMilli(), UntilMs: at.Add(10 * time.Minute).UnixMilli(),
	}
}

// TestRecord: a record has the override, which ends at its time.
func TestRecord(t *testing.T) {
	o := example()
	key, value, err := Leaders().Record(o)
	if err != nil || string(key) != "leader/7" {
		t.Fatalf("key %q, error %v", key, err)
	}
	got, err := Leaders().Decode(key, value)
	if err != nil || !proto.Equal(got, o) {
		t.Fatalf("decoded %v, error %v", got, err)
	}
	at := time.UnixMilli(o.AtMs)
	if !InForce(o, at) || !InForce(o, at.Add(10*time.Minute-time.Millisecond)) || InForce(o, at.Add(10*time.Minute)) {
		t.Error("the override does not hold for ten minutes")
	}
	if w := Leaders().Withdraw(o, at); InForce(w, at) || Leaders().Check(w) != nil {
		t.Errorf("%v does not withdraw %v", w, o)
	}
	if got, err := Leaders().Decode(key, nil); got != nil || err == nil || !strings.Contains(err.Error(), "withdraw it") {
		t.Errorf("a tombstone gives %v and %v", got, err)
	}
	if got, err := Leaders().Decode([]byte("other/eu"), []byte{1}); got != nil || err != nil {
		t.Errorf("a record of another kind gives %v and %v", got, err)
	}
}

// TestCheck: an override that is not valid is refused with what is wrong, and so is its record.
func TestCheck(t *testing.T) {
	for want, change := range map[string]func(o *eventspb.LeaderOverride){
		"shard -1":                              func(o *eventspb.LeaderOverride) { o.Shard = -1 },
		`leader "a b"`:                          func(o *eventspb.LeaderOverride) { o.Leader = "a b" },
		`leader ""`:                             func(o *eventspb.LeaderOverride) { o.Leader = "" },
		"begins at 0":                           func(o *eventspb.LeaderOverride) { o.AtMs = 0 },
		"holds for 86400001":                    func(o *eventspb.LeaderOverride) { o.UntilMs = o.AtMs + MaxFor.Milliseconds() + 1 },
		"holds for 999 ms":                      func(o *eventspb.LeaderOverride) { o.UntilMs = o.AtMs + 999 },
		"ends at 5,":                            func(o *eventspb.LeaderOverride) { o.UntilMs = 5 },
		"ends at -92233":                        func(o *eventspb.LeaderOverride) { o.UntilMs = math.MinInt64 },
		"who has 501 bytes":                     func(o *eventspb.LeaderOverride) { o.Who = strings.Repeat("x", MaxText+1) },
		"why 501: use at":                       func(o *eventspb.LeaderOverride) { o.Why = strings.Repeat("x", MaxText+1) },
		`the key "leader/7" and not "leader/8"`: func(o *eventspb.LeaderOverride) { o.Shard = 8 },
	} {
		o := example()
		change(o)
		value, err := proto.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Leaders().Decode([]byte("leader/7"), value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func campaignExample() *eventspb.CampaignOverride {
	o := example()
	return &eventspb.CampaignOverride{
		Account: "acme", Campaign: "spring", Probability: 0.25, Who: o.Who, Why: o.Why, AtMs: o.AtMs, UntilMs: o.UntilMs,
	}
}

// TestCampaign: a record has the override of a campaign. One that is not valid is refused with what
// is wrong.
func TestCampaign(t *testing.T) {
	o := campaignExample()
	key, value, err := Campaigns().Record(o)
	if err != nil || string(key) != "campaign/acme\x00spring" {
		t.Fatalf("key %q, error %v", key, err)
	}
	if got, err := Campaigns().Decode(key, value); err != nil || !proto.Equal(got, o) {
		t.Errorf("decoded %v, error %v", got, err)
	}
	if got, err := Campaigns().Decode([]byte("leader/7"), value); got != nil || err != nil {
		t.Errorf("another kind gives %v and %v", got, err)
	}
	if w := Campaigns().Withdraw(o, time.UnixMilli(o.AtMs)); InForce(w, time.UnixMilli(o.AtMs)) || Campaigns().Check(w) != nil {
		t.Errorf("%v does not withdraw %v", w, o)
	}
	for want, change := range map[string]func(o *eventspb.CampaignOverride){
		`account ""`:             func(o *eventspb.CampaignOverride) { o.Account = "" },
		`campaign "a\x00b"`:      func(o *eventspb.CampaignOverride) { o.Campaign = "a\x00b" },
		`campaign "xxxx`:         func(o *eventspb.CampaignOverride) { o.Campaign = strings.Repeat("x", 257) },
		"probability 1.5 is out": func(o *eventspb.CampaignOverride) { o.Probability = 1.5 },
		"probability -0.1 is":    func(o *eventspb.CampaignOverride) { o.Probability = -0.1 },
		"probability NaN is":     func(o *eventspb.CampaignOverride) { o.Probability = math.NaN() },
		"holds for 999 ms":       func(o *eventspb.CampaignOverride) { o.UntilMs = o.AtMs + 999 },
		"has the key":            func(o *eventspb.CampaignOverride) { o.Campaign = "summer" },
	} {
		o := campaignExample()
		change(o)
		value, err := proto.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Campaigns().Decode(key, value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := Campaigns().Decode(key, nil); err == nil {
		t.Error("a tombstone is an override")
	}
}

// TestWriter: the same of an override of the writer.
func TestWriter(t *testing.T) {
	o := &eventspb.WriterOverride{Writer: "us", Who: "ana", AtMs: 1000, UntilMs: 60_000}
	key, value, err := Writers().Record(o)
	if err != nil || string(key) != "writer" {
		t.Fatalf("key %q, error %v", key, err)
	}
	if got, err := Writers().Decode(key, value); err != nil || !proto.Equal(got, o) {
		t.Errorf("decoded %v, error %v", got, err)
	}
	if w := Writers().Withdraw(o, time.UnixMilli(5000)); InForce(w, time.UnixMilli(5000)) || Writers().Check(w) != nil || w.GetWriter() != "us" {
		t.Errorf("%v does not withdraw %v", w, o)
	}
	for key, want := range map[string]string{"writer": "writer:", "writer/us": "writer:"} {
		if _, err := Writers().Decode([]byte(key), []byte{0x0a, 1, '/'}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("key %s: %v", key, err)
		}
	}
	if _, err := Writers().Decode([]byte("writer/us"), value); err == nil || !strings.Contains(err.Error(), `and not "writer"`) {
		t.Errorf("another key: %v", err)
	}
}

// FuzzCampaign: what is decoded is a valid override, whose record gives it again.
func FuzzCampaign(f *testing.F) {
	key, value, err := Campaigns().Record(campaignExample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(key, value)
	f.Add([]byte("campaign/"), []byte{})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		o, err := Campaigns().Decode(key, value)
		if o == nil || err != nil {
			return
		}
		again, _, err := Campaigns().Record(o)
		if err != nil || string(again) != string(key) {
			t.Fatalf("key %q, error %v, want %q", again, err, key)
		}
	})
}

// FuzzDecode: what is decoded is a valid override, whose record gives it again.
func FuzzDecode(f *testing.F) {
	key, value, err := Leaders().Record(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(key, value)
	f.Add([]byte("leader/"), []byte{})
	f.Add([]byte("leader/07"), value)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		o, err := Leaders().Decode(key, value)
		if o == nil || err != nil {
			return
		}
		again, bytes, err := Leaders().Record(o)
		if err != nil || string(again) != string(key) {
			t.Fatalf("key %q, error %v, want %q", again, err, key)
		}
		if got, err := Leaders().Decode(again, bytes); err != nil || !proto.Equal(got, o) {
			t.Fatalf("%v, %v, want %v", got, err, o)
		}
	})
}
