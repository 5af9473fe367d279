package backtest

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// Curve is the demand in one region.
type Curve struct {
	Region string
	Start  time.Time
	Step   time.Duration
	Rate   []float64 // demand in new leases per second, by step
}

// Errors of Read.
var (
	ErrFormat = errors.New("not a series of time and value")
	errTime   = errors.New("invalid time: use Unix seconds, RFC 3339 or 2006-01-02 15:04:05")
)

// maxPoints bounds a file: forty years of minutes.
const maxPoints = 21_000_000

// Read reads the curve of a region. The package comment describes the format.
func Read(region string, src io.Reader) (Curve, error) {
	in := bufio.NewReader(src)
	var plain io.Reader = in
	if head, err := in.Peek(2); err == nil && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return Curve{}, fmt.Errorf("curve of %s: %w", region, err)
		}
		plain = z
	}
	times, values, err := points(plain)
	if err != nil {
		return Curve{}, fmt.Errorf("curve of %s: %w", region, err)
	}
	c, err := evenly(times, values)
	if err != nil {
		return Curve{}, fmt.Errorf("curve of %s: %w", region, err)
	}
	c.Region = region
	return c, nil
}

func points(src io.Reader) (times []int64, values []float64, err error) {
	rows := csv.NewReader(src)
	rows.FieldsPerRecord, rows.ReuseRecord = -1, true
	for n := 1; ; n++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return times, values, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		if len(row) < 2 {
			return nil, nil, fmt.Errorf("%w: line %d has less than two columns", ErrFormat, n)
		}
		at, err := readTime(row[0])
		if err != nil && n == 1 {
			continue // names of the columns
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%w: line %d, %.40q: %w", ErrFormat, n, row[0], err)
		}
		v, err := strconv.ParseFloat(row[1], 64)
		if err != nil || !(v >= 0) || v > 1e15 {
			v = 0
		}
		if len(times) > 0 && at <= times[len(times)-1] {
			return nil, nil, fmt.Errorf("%w: line %d: %.40q is not after the line before", ErrFormat, n, row[0])
		}
		if times, values = append(times, at), append(values, v); len(times) > maxPoints {
			return nil, nil, fmt.Errorf("%w: more than %d lines", ErrFormat, maxPoints)
		}
	}
}

func readTime(s string) (int64, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if !(math.Abs(f) < 1e11) {
			return 0, errTime
		}
		return int64(f), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix(), nil
		}
	}
	return 0, errTime
}

// evenly converts points to equal steps of the most frequent width.
func evenly(times []int64, values []float64) (Curve, error) {
	if len(times) < 2 {
		return Curve{}, fmt.Errorf("%w: number of usable lines %d: write at least two", ErrFormat, len(times))
	}
	gaps := make([]int64, len(times)-1)
	for i := range gaps {
		gaps[i] = times[i+1] - times[i]
	}
	slices.Sort(gaps)
	step := gaps[len(gaps)/2]
	n := (times[len(times)-1]-times[0])/step + 1
	if n > 4*int64(len(times)) {
		return Curve{}, fmt.Errorf("%w: steps of %d s, of which %d of %d are missing", ErrFormat, step, n-int64(len(times)), n)
	}
	c := Curve{Start: time.Unix(times[0], 0).UTC(), Step: time.Duration(step) * time.Second, Rate: make([]float64, n)}
	at := 0
	for i := range c.Rate {
		for at+1 < len(times) && times[at+1] <= times[0]+int64(i)*step {
			at++
		}
		c.Rate[i] = values[at]
	}
	return c, nil
}

// Scale scales the curve to a mean of so many new leases per second.
func (c Curve) Scale(mean float64) Curve {
	sum := 0.0
	for _, r := range c.Rate {
		sum += r
	}
	out := c
	out.Rate = make([]float64, len(c.Rate))
	for i, r := range c.Rate {
		if sum > 0 {
			out.Rate[i] = r * mean * float64(len(c.Rate)) / sum
		}
	}
	return out
}

// Shift moves the curve later by a time of day, as if its region were further west. The end of the
// curve moves to its beginning.
func (c Curve) Shift(by time.Duration) Curve {
	out, n, k := c, len(c.Rate), int(by/c.Step)
	out.Rate = make([]float64, n)
	for i, r := range c.Rate {
		out.Rate[((i+k)%n+n)%n] = r
	}
	return out
}

// Cut returns the part of the curve from a time on, of at most a length.
func (c Curve) Cut(from, length time.Duration) Curve {
	a := min(len(c.Rate), max(0, int(from/c.Step)))
	b := min(len(c.Rate), max(a, a+int(length/c.Step)))
	c.Start, c.Rate = c.Start.Add(time.Duration(a)*c.Step), c.Rate[a:b]
	return c
}

// at returns the rate at a second after the start, interpolated between the middles of two steps.
func (c *Curve) at(second int) float64 {
	x := (float64(second)+0.5)/c.Step.Seconds() - 0.5
	i := int(math.Floor(x))
	last := len(c.Rate) - 1
	a, b := c.Rate[min(last, max(0, i))], c.Rate[min(last, max(0, i+1))]
	return a + (b-a)*(x-float64(i))
}

// seconds returns the length of the curve.
func (c *Curve) seconds() int { return int(time.Duration(len(c.Rate)) * c.Step / time.Second) }
