package override

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

const campaignPrefix = "campaign/"

// CheckCampaign returns why a campaign cannot have an override, nil if it can.
func CheckCampaign(o *eventspb.CampaignOverride) error {
	for name, id := range map[string]string{"account": o.GetAccount(), "campaign": o.GetCampaign()} {
		if id == "" || len(id) > budget.MaxIDBytes || !utf8.ValidString(id) || strings.Contains(id, "\x00") {
			return fmt.Errorf("%s %.64q is not an id: use 1 to %d bytes of UTF-8 without a NUL byte", name, id, budget.MaxIDBytes)
		}
	}
	if p := o.GetProbability(); p != 0 && !(p >= control.MinProbability && p <= 1) {
		return fmt.Errorf("the probability %g is out of range: use %g to 1, or 0 to stop the campaign", p, control.MinProbability)
	}
	return check(o)
}

// CampaignKey returns the key of the record of an override of a campaign.
func CampaignKey(account, campaign string) []byte {
	return []byte(campaignPrefix + account + "\x00" + campaign)
}

// CampaignRecord returns the record of an override of a campaign. Its partition is that of the
// account.
func CampaignRecord(o *eventspb.CampaignOverride) (key, value []byte, err error) {
	if err := CheckCampaign(o); err != nil {
		return nil, nil, err
	}
	value, err = proto.Marshal(o)
	return CampaignKey(o.GetAccount(), o.GetCampaign()), value, err
}

// DecodeCampaign returns the override of a record, and nil for a record of another kind.
func DecodeCampaign(key, value []byte) (*eventspb.CampaignOverride, error) {
	if !strings.HasPrefix(string(key), campaignPrefix) {
		return nil, nil //nolint:nilnil // another kind
	}
	if value == nil {
		return nil, errors.New("a tombstone does not end an override: withdraw it")
	}
	o := &eventspb.CampaignOverride{}
	if err := proto.Unmarshal(value, o); err != nil {
		return nil, fmt.Errorf("not a CampaignOverride: %w", err)
	}
	if err := CheckCampaign(o); err != nil {
		return nil, err
	}
	if want := CampaignKey(o.GetAccount(), o.GetCampaign()); string(key) != string(want) {
		return nil, fmt.Errorf("the override has the key %q and not %q", key, want)
	}
	return o, nil
}

// WithdrawCampaign returns the override that ends o.
func WithdrawCampaign(o *eventspb.CampaignOverride, at time.Time) *eventspb.CampaignOverride {
	return &eventspb.CampaignOverride{
		Account: o.GetAccount(), Campaign: o.GetCampaign(), Probability: o.GetProbability(), AtMs: at.UnixMilli(), UntilMs: at.UnixMilli(),
	}
}
