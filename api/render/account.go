package render

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirhq/weir/api/weirpb"
)

// account is the JSON form of a GetAccountResponse.
type account struct {
	Account string       `json:"account"`
	Choice  choice       `json:"choice"`
	Rows    []accountRow `json:"rows"`
	Parts   []partRow    `json:"parts,omitempty"`
}

// choice is which dataset is used.
type choice struct {
	Shard     int32            `json:"shard"`
	Mode      string           `json:"mode"`
	Dataset   string           `json:"dataset"` // empty unless the mode is normal
	Reason    string           `json:"reason"`
	SinceMs   int64            `json:"since_ms"`
	WrittenMs int64            `json:"written_ms"` // 0: not known
	AgeMs     int64            `json:"age_ms"`     // -1: not known
	Origins   map[string]int64 `json:"origins"`    // greatest ingest time of the events of each, Unix ms
}

func choiceOf(c *weirpb.DatasetChoice) choice {
	out := choice{
		c.GetShard(), c.GetMode(), c.GetDc(), c.GetReason(), c.GetSinceMs(), c.GetWrittenMs(), c.GetAgeMs(), map[string]int64{},
	}
	for _, o := range c.GetOrigins() {
		out.Origins[o.GetDc()] = o.GetWatermarkMs()
	}
	return out
}

// accountRow is a campaign day of the account.
type accountRow struct {
	Campaign       string `json:"campaign"`
	Day            string `json:"day"`
	Currency       string `json:"currency"`
	ChargedMicros  int64  `json:"charged_micros"`
	RefundedMicros int64  `json:"refunded_micros"`
	Impressions    uint64 `json:"impressions"`
	Clicks         uint64 `json:"clicks"`
	Events         uint64 `json:"events"`
	Duplicates     uint64 `json:"duplicates"`
}

// partRow is a line item and arm of a campaign day.
type partRow struct {
	Campaign      string `json:"campaign"`
	Day           string `json:"day"`
	Currency      string `json:"currency"`
	LineItem      string `json:"line_item"`
	Arm           string `json:"arm"`
	ChargedMicros int64  `json:"charged_micros"`
	Events        uint64 `json:"events"`
}

// AccountJSON formats res as one JSON object without a newline at the end.
func AccountJSON(res *weirpb.GetAccountResponse) ([]byte, error) {
	out := account{Account: res.GetAccount(), Rows: []accountRow{}, Choice: choiceOf(res.GetChoice())}
	for _, r := range res.GetRows() {
		out.Rows = append(out.Rows, accountRow{
			r.GetCampaign(), r.GetDay(), r.GetCurrency(), r.GetChargedMicros(), r.GetRefundedMicros(), r.GetImpressions(), r.GetClicks(),
			r.GetEvents(), r.GetDuplicates(),
		})
	}
	for _, p := range res.GetParts() {
		out.Parts = append(out.Parts, partRow{
			p.GetCampaign(), p.GetDay(), p.GetCurrency(), p.GetLineItem(), p.GetArm(), p.GetChargedMicros(), p.GetEvents(),
		})
	}
	return marshal("account", out)
}

// AccountTable formats res for a terminal: a line for each campaign day, and which dataset the
// figures are of. It ends with a newline.
func AccountTable(res *weirpb.GetAccountResponse) string {
	text := ""
	if len(res.GetRows()) > 0 {
		t := newTable()
		t.AppendHeader(table.Row{"campaign", "day", "currency", "charged", "refunded", "events"})
		right(t, 4, 5, 6)
		for _, r := range res.GetRows() {
			t.AppendRow(table.Row{
				plain(r.GetCampaign()), r.GetDay(), r.GetCurrency(), Money(r.GetChargedMicros()),
				Money(r.GetRefundedMicros()), r.GetEvents(),
			})
		}
		text = t.Render() + "\n"
	} else {
		text = fmt.Sprintf("account %s has no spend on these days\n", plain(res.GetAccount()))
	}
	if len(res.GetParts()) > 0 {
		t := newTable()
		t.AppendHeader(table.Row{"campaign", "day", "currency", "line item", "arm", "charged", "events"})
		right(t, 6, 7)
		for _, p := range res.GetParts() {
			t.AppendRow(table.Row{
				plain(p.GetCampaign()), p.GetDay(), p.GetCurrency(), plain(p.GetLineItem()), plain(p.GetArm()),
				Money(p.GetChargedMicros()), p.GetEvents(),
			})
		}
		text += t.Render() + "\n"
	}
	return text + choiceText(res.GetChoice()) + "\n"
}

// choiceText returns which dataset figures are of, how old they are and why it is used.
func choiceText(c *weirpb.DatasetChoice) string {
	age := "of unknown age"
	if ms := c.GetAgeMs(); ms >= 0 {
		age = (time.Duration(ms) * time.Millisecond).Round(100*time.Millisecond).String() + " old"
	}
	if c.GetDc() == "" {
		return fmt.Sprintf("%s, %s: the greatest figures of all datasets, because %s", c.GetMode(), age, plain(c.GetReason()))
	}
	return fmt.Sprintf("dataset of %s, %s, because %s", c.GetDc(), age, plain(c.GetReason()))
}
