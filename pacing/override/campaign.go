package override

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// Campaigns is the kind by which a campaign stops, or has a probability. The partition of a record
// is that of the account.
func Campaigns() Kind[*eventspb.CampaignOverride] {
	type override = eventspb.CampaignOverride
	return Kind[*override]{
		name: "CampaignOverride", prefix: "campaign/", new: func() *override { return &override{} }, check: checkCampaign,
		id: func(o *override) string { return o.GetAccount() + "\x00" + o.GetCampaign() },
		ended: func(o *override, atMs int64) *override {
			return &override{
				Account: o.GetAccount(), Campaign: o.GetCampaign(), Probability: o.GetProbability(), AtMs: atMs, UntilMs: atMs,
			}
		},
	}
}

func checkCampaign(o *eventspb.CampaignOverride) error {
	for _, f := range [][2]string{{"account", o.GetAccount()}, {"campaign", o.GetCampaign()}} {
		if id := f[1]; id == "" || len(id) > budget.MaxIDBytes || !utf8.ValidString(id) || strings.Contains(id, "\x00") {
			return fmt.Errorf("%s %.64q is not an id: use 1 to %d bytes of UTF-8 without a NUL byte", f[0], id, budget.MaxIDBytes)
		}
	}
	if p := o.GetProbability(); p != 0 && !(p >= control.MinProbability && p <= 1) {
		return fmt.Errorf("the probability %g is out of range: use %g to 1, or 0 to stop the campaign", p, control.MinProbability)
	}
	return nil
}
