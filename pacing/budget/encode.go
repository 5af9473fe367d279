package budget

import (
	"bytes"
	"encoding/json"
	"time"
)

// Encode returns the JSON of a valid document, on one line without a line break. Decode reads it.
// Equal documents have equal bytes.
func (d *Document) Encode() []byte {
	out := jsonDocument{Account: d.Account, Version: d.Version, Zone: d.Zone, Currency: d.Currency, Plan: d.Plan}
	if d.EffectiveMs != 0 {
		out.EffectiveFrom = time.UnixMilli(d.EffectiveMs).UTC().Format(time.RFC3339Nano)
	}
	for i := range d.Shared {
		s := &d.Shared[i]
		out.Shared = append(out.Shared, jsonShared{s.ID, s.Parent, newJSONLimit(&s.Limit)})
	}
	for i := range d.Campaigns {
		c := &d.Campaigns[i]
		row := jsonCampaign{Campaign: c.ID, Shared: c.Shared, jsonLimit: newJSONLimit(&c.Limit)}
		for _, a := range c.Arms {
			row.Arms = append(row.Arms, jsonArm{a.ID, FormatPPM(int64(a.PPM))})
		}
		out.Campaigns = append(out.Campaigns, row)
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil // text, numbers and lists of them always have an encoding
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
}

type jsonDocument struct {
	Account       string         `json:"account"`
	Version       uint64         `json:"version,omitempty"`
	Zone          string         `json:"time_zone"`
	Currency      string         `json:"currency"`
	EffectiveFrom string         `json:"effective_from,omitempty"`
	Plan          string         `json:"plan,omitempty"`
	Shared        []jsonShared   `json:"shared,omitempty"`
	Campaigns     []jsonCampaign `json:"campaigns"`
}

type jsonShared struct {
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	jsonLimit
}

type jsonCampaign struct {
	Campaign string `json:"campaign"`
	Shared   string `json:"shared,omitempty"`
	jsonLimit
	Arms []jsonArm `json:"arms,omitempty"`
}

type jsonLimit struct {
	Daily        string       `json:"daily,omitempty"`
	Lifetime     string       `json:"lifetime,omitempty"`
	AverageDaily string       `json:"average_daily,omitempty"`
	Cap          string       `json:"cap,omitempty"`
	Flights      []jsonFlight `json:"flights,omitempty"`
	Controller   string       `json:"controller,omitempty"`
}

type jsonFlight struct {
	Begin string `json:"begin"`
	End   string `json:"end,omitempty"`
}

type jsonArm struct {
	Arm   string `json:"arm"`
	Share string `json:"share"`
}

func newJSONLimit(l *Limit) (out jsonLimit) {
	amount := FormatAmount(l.Micros)
	out.Controller = l.Controller
	switch l.Kind {
	case None:
	case Daily:
		out.Daily = amount
	case Lifetime:
		out.Lifetime = amount
	case AverageDaily:
		out.AverageDaily, out.Cap = amount, FormatPPM(int64(l.CapPPM))
	}
	for _, f := range l.Flights {
		row := jsonFlight{Begin: f.Begin.String()}
		if f.End != NoEnd {
			row.End = f.End.String()
		}
		out.Flights = append(out.Flights, row)
	}
	return out
}
