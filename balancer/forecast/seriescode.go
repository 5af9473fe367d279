package forecast

import (
	"encoding/binary"
	"fmt"
	"math"
)

// seriesBytes is the length of an encoded Series: version, step and time, numbers, forecasts to
// score.
const seriesBytes = 1 + 8*(14+2*Methods) + pendingForecasts*(16+4*Methods)

// floats returns the numbers of s in the order in which they are encoded.
func (s *Series) floats() []*float64 {
	list := []*float64{
		&s.count, &s.total, &s.age, &s.level, &s.prior, &s.holt, &s.trend, &s.hourSum, &s.hourSteps, &s.recent, &s.samples, &s.swungAway,
	}
	for m := range s.score {
		list = append(list, &s.score[m], &s.square[m])
	}
	return list
}

// Encode appends the series to dst.
func (s *Series) Encode(dst []byte) []byte {
	le := binary.LittleEndian
	dst = append(dst, 2)
	dst = le.AppendUint64(dst, uint64(s.step))
	dst = le.AppendUint64(dst, uint64(s.recentMs))
	for _, f := range s.floats() {
		dst = le.AppendUint64(dst, math.Float64bits(*f))
	}
	for i := range s.past {
		g := &s.past[i]
		dst = le.AppendUint64(dst, uint64(g.step))
		dst = le.AppendUint64(dst, math.Float64bits(g.total))
		for _, f := range g.rate {
			dst = le.AppendUint32(dst, math.Float32bits(f))
		}
	}
	return dst
}

// DecodeSeries decodes what Encode wrote. No bytes are an empty series.
func DecodeSeries(src []byte) (Series, error) {
	var s Series
	if len(src) == 0 {
		return s, nil
	}
	if len(src) != seriesBytes || src[0] != 2 {
		return s, fmt.Errorf("forecast: a series has %d bytes of version %d, want %d of version 2: the row is damaged", len(src), src[0],
			seriesBytes)
	}
	le := binary.LittleEndian
	src = src[1:]
	next := func() uint64 {
		v := le.Uint64(src)
		src = src[8:]
		return v
	}
	s.step, s.recentMs = int64(next()), int64(next())
	for _, f := range s.floats() {
		if *f = math.Float64frombits(next()); math.IsNaN(*f) || math.IsInf(*f, 0) {
			return s, fmt.Errorf("forecast: a series has the number %v: the row is damaged", *f)
		}
	}
	for i := range s.past {
		g := &s.past[i]
		g.step, g.total = int64(next()), math.Float64frombits(next())
		for m := range g.rate {
			g.rate[m] = math.Float32frombits(le.Uint32(src))
			src = src[4:]
		}
	}
	return s, nil
}
