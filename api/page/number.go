package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/api/render"
)

// integer is a type of a count.
type integer interface {
	~int | ~int32 | ~int64 | ~uint64
}

// count formats n with a comma between groups of three digits.
func count[T integer](n T) string { return grouped(fmt.Sprint(n)) }

// grouped adds separators to the digits before the point.
func grouped(number string) string {
	var b strings.Builder
	digits, negative := strings.CutPrefix(number, "-")
	if negative {
		b.WriteByte('-')
	}
	whole, fraction, has := strings.Cut(digits, ".")
	for i, d := range []byte(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(d)
	}
	if has {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// Places of a decimal fraction of money: all six are shown only where they are needed.
const minPlaces, maxPlaces = 2, 6

// places returns the number of decimal places that all amounts of a column need.
func places(micros ...int64) int {
	need := minPlaces
	for _, m := range micros {
		text := strings.TrimRight(render.Money(m), "0")
		need = max(need, len(text)-1-strings.IndexByte(text, '.'))
	}
	return need
}

// money formats micros with as many decimal places as places has found.
func money(micros int64, places int) string {
	text := render.Money(micros)
	return grouped(text[:len(text)-maxPlaces+places])
}

// clock formats a time: the time of day alone on the day of now.
func clock(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format("2006-01-02 15:04")
}

// span formats a duration with its two greatest units.
func span(d time.Duration) string {
	s := int64(max(0, d).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 24*3600:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	}
	return fmt.Sprintf("%s d %d h", count(s/86400), s/3600%24)
}

// rate formats a number of events in the last minute as events per second.
func rate(lastMinute uint64) string { return perSecond(float64(lastMinute) / 60) }

// perSecond formats a rate.
func perSecond(x float64) string {
	if x >= 100 {
		return count(int64(x + 0.5))
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}
