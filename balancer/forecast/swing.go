package forecast

// Swing moves a share of the expected arrivals of one region to another at once, before the traffic
// moves.
func Swing(from, to *Series, share float64) {
	move := func(a, b *float64) float64 {
		d := share * *a
		*a, *b = *a-d, *b+d
		return d
	}
	from.swungAway += move(&from.level, &to.level)
	move(&from.holt, &to.holt)
	move(&from.trend, &to.trend)
}

// SwingBack reverts Swing: it moves as much as was moved before, if that much is left.
func SwingBack(from, to *Series) {
	d := min(from.swungAway, to.level)
	from.level, to.level = from.level+d, to.level-d
	d = min(from.swungAway, max(0, to.holt))
	from.holt, to.holt = from.holt+d, to.holt-d
	from.swungAway = 0
}
