package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/events/eventspb"
)

// fakeInsertions is an InsertionSink.
type fakeInsertions struct {
	list  []*eventspb.InsertionSums
	err   error
	begun chan struct{} // nil: writes take no time
	end   chan struct{}
}

func (f *fakeInsertions) Produce(_ context.Context, list []*eventspb.InsertionSums) error {
	if f.begun != nil {
		f.begun <- struct{}{}
		<-f.end
		return nil
	}
	f.list = append(f.list, list...)
	return f.err
}

// TestReportInsertions: a report is one record for each account. One that is not valid is refused
// as a whole.
func TestReportInsertions(t *testing.T) {
	sink := &fakeInsertions{}
	cfg := config()
	cfg.SpendCache, cfg.Insertions = &fakeCache{}, sink
	serving := func(cfg Config) weirpbconnect.SpendCacheServiceClient {
		s := mustNew(t, cfg)
		run(t, s)
		return weirpbconnect.NewSpendCacheServiceClient(http.DefaultClient, "http://"+s.Addr())
	}
	c := serving(cfg)
	report := func(m *weirpb.ReportInsertionsRequest) error {
		_, err := c.ReportInsertions(t.Context(), connect.NewRequest(m))
		return err
	}
	spring := &weirpb.CampaignInsertions{Campaign: "spring", Arm: "new", ExpectedMicros: 8000, Ads: 3, Currency: "EUR"}
	valid := func() *weirpb.ReportInsertionsRequest {
		return &weirpb.ReportInsertionsRequest{Reporter: "r", Sequence: 7, Accounts: []*weirpb.AccountInsertions{
			{Account: "acme", Campaigns: []*weirpb.CampaignInsertions{proto.CloneOf(spring)}}, {Account: "initech"},
		}}
	}
	if err := report(valid()); err != nil {
		t.Fatal(err)
	}
	if len(sink.list) != 2 || sink.list[0].GetAtMs() == 0 || sink.list[1].GetAccount() != "initech" {
		t.Fatalf("%v", sink.list)
	}
	sink.list[0].AtMs = 0
	if want := (&eventspb.InsertionSums{Account: "acme", Reporter: "r", Sequence: 7, Campaigns: []*eventspb.CampaignInsertions{
		{Campaign: "spring", Arm: "new", ExpectedMicros: 8000, Ads: 3, Currency: "EUR"},
	}}); !proto.Equal(sink.list[0], want) {
		t.Errorf("%v, want %v", sink.list[0], want)
	}
	sink.list = nil
	for want, change := range map[string]func(*weirpb.ReportInsertionsRequest){
		"no reporter":        func(m *weirpb.ReportInsertionsRequest) { m.Reporter = "" },
		"no sequence":        func(m *weirpb.ReportInsertionsRequest) { m.Sequence = 0 },
		"reporter has":       func(m *weirpb.ReportInsertionsRequest) { m.Reporter = strings.Repeat("x", maxReporterBytes+1) },
		"no account":         func(m *weirpb.ReportInsertionsRequest) { m.Accounts[1].Account = "" },
		"is there twice":     func(m *weirpb.ReportInsertionsRequest) { m.Accounts[1].Account = "acme" },
		"has no id":          func(m *weirpb.ReportInsertionsRequest) { m.Accounts[0].Campaigns[0].Campaign = "" },
		"expected_micros -1": func(m *weirpb.ReportInsertionsRequest) { m.Accounts[0].Campaigns[0].ExpectedMicros = -1 },
		"expected_micros 0":  func(m *weirpb.ReportInsertionsRequest) { m.Accounts[0].Campaigns[0].ExpectedMicros = 0 },
		"ISO 4217":           func(m *weirpb.ReportInsertionsRequest) { m.Accounts[0].Campaigns[0].Currency = "euro" },
		"has a NUL byte":     func(m *weirpb.ReportInsertionsRequest) { m.Accounts[0].Campaigns[0].Arm = "x\x00" },
		"than 10000 campaigns": func(m *weirpb.ReportInsertionsRequest) {
			for range MaxInsertions {
				m.Accounts[1].Campaigns = append(m.Accounts[1].Campaigns, spring)
			}
		},
	} {
		m := valid()
		change(m)
		err := report(m)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want that %s", err, want)
		}
	}
	if sink.list != nil {
		t.Errorf("something of a report that is not valid is written: %v", sink.list)
	}
	sink.err = errors.New("no broker answers")
	if err := report(valid()); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "no broker answers: repeat") {
		t.Error(err)
	}
	sink.err, sink.begun, sink.end = nil, make(chan struct{}), make(chan struct{})
	var writing sync.WaitGroup
	for range maxReports {
		writing.Go(func() {
			if err := report(valid()); err != nil {
				t.Error(err)
			}
		})
		<-sink.begun
	}
	err := report(valid())
	if coded := new(connect.Error); connect.CodeOf(err) != connect.CodeUnavailable || !errors.As(err, &coded) || coded.Meta().Get("Retry-After") == "" {
		t.Errorf("one report too many: %v", err)
	}
	close(sink.end)
	writing.Wait()
	c = serving(config())
	if err := report(valid()); connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "no spend cache") {
		t.Error(err)
	}
}

// FuzzInsertions: what is taken is one record for each account, with amounts that are not negative.
func FuzzInsertions(f *testing.F) {
	seed, err := proto.Marshal(&weirpb.ReportInsertionsRequest{Reporter: "r", Sequence: 1, Accounts: []*weirpb.AccountInsertions{
		{Account: "a", Campaigns: []*weirpb.CampaignInsertions{{Campaign: "c", ExpectedMicros: 1}}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &weirpb.ReportInsertionsRequest{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		list, err := newInsertions(m, 1)
		if err == nil && len(list) != len(m.GetAccounts()) || err != nil && list != nil {
			t.Fatalf("%v of %v, %v", list, m, err)
		}
		for _, r := range list {
			for _, c := range r.GetCampaigns() {
				if c.GetExpectedMicros() <= 0 || c.GetCampaign() == "" || r.GetAccount() == "" {
					t.Fatalf("%v", r)
				}
			}
		}
	})
}
