package balancer

// Swing moves a share of what is expected in one region to another, at once: before the traffic goes there.
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

// SwingBack undoes Swing when the traffic is to come back: as much as once went, if that much is left.
func SwingBack(from, to *Series) {
	d := min(from.swungAway, to.level)
	from.level, to.level = from.level+d, to.level-d
	d = min(from.swungAway, max(0, to.holt))
	from.holt, to.holt = from.holt+d, to.holt-d
	from.swungAway = 0
}
