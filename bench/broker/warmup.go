package broker

import "math"

const (
	warmUpPasses = 6   // at most
	steady       = 0.1 // relative difference of two passes of a warm broker
)

// warmUp repeats a pass that is not a part of the result until two passes in a row are about
// equally fast: a broker that has just started compiles its code while it answers, and its page
// cache is empty. pass returns records per second.
func warmUp(pass func() (float64, error), notef func(format string, args ...any)) error {
	former := 0.0
	for n := 1; n <= warmUpPasses; n++ {
		now, err := pass()
		if err != nil {
			return err
		}
		notef("warm-up %d: bare %.2f M/s, not a part of the result", n, now/1e6)
		if math.Abs(now-former) <= steady*now {
			return nil
		}
		former = now
	}
	notef("the broker is not steady after %d passes: repeat the benchmark when the machine is idle", warmUpPasses)
	return nil
}
