package forecast

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

const (
	dayHours  = 24
	weekHours = 168
	slots     = dayHours + weekHours
	hourMs    = 3_600_000
	weekOnly  = 2 // weeks from which on the hour of the week is used instead of the hour of the day
)

// Profile has the usual arrivals per second at each hour of the day and of the week, UTC: 960 bytes
// when encoded. A nil Profile is empty.
type Profile struct {
	mean [slots]float32
	seen [slots]uint8 // days or weeks, at most 255

	changed bool
}

// learn adds the mean rate of the hour that ends at atMs.
func (p *Profile) learn(atMs int64, mean float64) {
	if p == nil {
		return
	}
	day, week := hourSlots(atMs)
	for _, i := range [...]int{day, week} {
		if p.seen[i] < math.MaxUint8 {
			p.seen[i]++
		}
		// The mean of the first three, then a moving average with weight 0.3.
		w := max(0.3, 1/float64(p.seen[i]))
		p.mean[i] += float32(w * (mean - float64(p.mean[i])))
	}
	p.changed = true
}

// at returns the usual rate at a time, interpolated between the middles of two hours.
func (p *Profile) at(ms int64) (rate float64, known bool) {
	if p == nil {
		return 0, false
	}
	before := (ms-hourMs/2)/hourMs*hourMs + hourMs/2 // middle of an hour
	a, okA := p.hour(before)
	b, okB := p.hour(before + hourMs)
	switch {
	case okA && okB:
		return a + (b-a)*float64(ms-before)/hourMs, true
	case okA:
		return a, ms-before < hourMs/2
	default:
		return b, okB && ms-before >= hourMs/2
	}
}

func (p *Profile) hour(ms int64) (rate float64, known bool) {
	day, week := hourSlots(ms)
	if p.seen[week] >= weekOnly {
		return float64(p.mean[week]), true
	}
	return float64(p.mean[day]), p.seen[day] > 0
}

func hourSlots(ms int64) (day, week int) {
	h := max(0, ms/hourMs)
	return int(h % dayHours), dayHours + int(h%weekHours)
}

// TakeChanged reports whether the profile changed since the last call.
func (p *Profile) TakeChanged() bool {
	changed := p.changed
	p.changed = false
	return changed
}

// MarshalJSON shows new leases per second by hour, and from how many days or weeks each rate is.
func (p *Profile) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Day   []float32 `json:"hours_of_day"`
		Week  []float32 `json:"hours_of_week"`
		Days  []int     `json:"days"`
		Weeks []int     `json:"weeks"`
	}{p.mean[:dayHours], p.mean[dayHours:], counts(p.seen[:dayHours]), counts(p.seen[dayHours:])})
}

// counts returns n as numbers: JSON has bytes as base64.
func counts(n []uint8) []int {
	out := make([]int, len(n))
	for i, v := range n {
		out[i] = int(v)
	}
	return out
}

// Encode appends the profile to dst.
func (p *Profile) Encode(dst []byte) []byte {
	for i := range p.mean {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(p.mean[i]))
	}
	return append(dst, p.seen[:]...)
}

// DecodeProfile decodes what Encode wrote.
func DecodeProfile(src []byte) (*Profile, error) {
	if len(src) != 5*slots {
		return nil, fmt.Errorf("forecast: a profile has %d bytes, want %d: the row is damaged", len(src), 5*slots)
	}
	p := &Profile{}
	for i := range p.mean {
		f := math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		if !(f >= 0 && f <= math.MaxFloat32) {
			return nil, fmt.Errorf("forecast: a profile has the rate %v: the row is damaged", f)
		}
		p.mean[i] = f
	}
	copy(p.seen[:], src[4*slots:])
	return p, nil
}
