package api

import (
	"cmp"
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// InsertionSink writes ads that were shown to their topic. Its method is called concurrently.
type InsertionSink interface {
	// Produce writes records, and returns when all of them are acknowledged. After an error some of
	// them may be written.
	Produce(ctx context.Context, list []*eventspb.InsertionSums) error
}

const (
	// MaxInsertions is the maximum number of campaigns of a report.
	MaxInsertions = 10_000
	// maxExpected bounds an expected cost, in micros: a thousand billion units.
	maxExpected = 1e18
	// maxReporterBytes bounds a reporter, which each record of a report has.
	maxReporterBytes = 100
	// maxReports bounds the reports that are written at a time, of the requests of the server.
	maxReports = 64
	// insertionWait bounds the write of a report.
	insertionWait = 10 * time.Second
)

// ReportInsertions writes the ads that an ad server has shown. weir.proto lists its errors.
func (s *spendCacheService) ReportInsertions(ctx context.Context,
	req *connect.Request[weirpb.ReportInsertionsRequest],
) (*connect.Response[weirpb.ReportInsertionsResponse], error) {
	if s.insertions == nil {
		return nil, noSpendCache()
	}
	list, err := newInsertions(req.Msg, time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	select {
	case s.reporting <- struct{}{}:
		defer func() { <-s.reporting }()
	default: // requests for parameters must not wait for reports
		return nil, retryLater(errorf(connect.CodeUnavailable, "the ads are not written: %d reports are being written: repeat the request",
			cap(s.reporting)))
	}
	ctx, cancel := context.WithTimeout(ctx, insertionWait)
	defer cancel()
	if err := s.insertions.Produce(ctx, list); err != nil {
		return nil, errorf(connect.CodeUnavailable,
			"the ads are not written: %w: repeat the request; without the topic, `weir topics apply` creates it", err)
	}
	return connect.NewResponse(&weirpb.ReportInsertionsResponse{}), nil
}

// newInsertions returns the records of a report that is valid.
func newInsertions(m *weirpb.ReportInsertionsRequest, nowMs int64) (list []*eventspb.InsertionSums, err error) {
	switch {
	case m.GetReporter() == "":
		return nil, invalid("the request has no reporter: set an id of the process, another one after each start")
	case m.GetSequence() == 0:
		return nil, invalid("the request has no sequence: count the reports of the process, from 1 on")
	case len(m.GetReporter()) > maxReporterBytes:
		return nil, invalid("reporter has %d bytes: use at most %d", len(m.GetReporter()), maxReporterBytes)
	}
	seen, campaigns := map[string]bool{}, 0
	for _, a := range m.GetAccounts() {
		if err := checkAccount(a.GetAccount()); err != nil {
			return nil, err
		}
		if seen[a.GetAccount()] {
			return nil, invalid("account %q is there twice: its second part would count as a repetition", a.GetAccount())
		}
		seen[a.GetAccount()] = true
		if campaigns += max(1, len(a.GetCampaigns())); campaigns > MaxInsertions {
			return nil, invalid("the request has more than %d campaigns: send several", MaxInsertions)
		}
		r := &eventspb.InsertionSums{
			Account: a.GetAccount(), Reporter: m.GetReporter(), Sequence: m.GetSequence(), AtMs: nowMs,
		}
		for _, c := range a.GetCampaigns() {
			if err := checkInsertions(c); err != nil {
				return nil, err
			}
			r.Campaigns = append(r.Campaigns, &eventspb.CampaignInsertions{
				Campaign: c.GetCampaign(), Arm: c.GetArm(), ExpectedMicros: c.GetExpectedMicros(), Ads: c.GetAds(),
				Currency: c.GetCurrency(),
			})
		}
		list = append(list, r)
	}
	return list, nil
}

// checkInsertions returns why the ads of a campaign cannot be written.
func checkInsertions(c *weirpb.CampaignInsertions) error {
	if c.GetCampaign() == "" {
		return invalid("a campaign of the request has no id: set campaign")
	}
	if v := c.GetExpectedMicros(); v <= 0 || v > maxExpected {
		return invalid("expected_micros %d of campaign %q is out of range: use 1 to %d, and leave out ads that cost nothing", v, c.GetCampaign(), int64(maxExpected))
	}
	return cmp.Or(checkID("campaign", c.GetCampaign()), checkID("arm", c.GetArm()), checkCurrency(c.GetCurrency()))
}
