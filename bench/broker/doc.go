// Package broker measures a processor against a bare consumer of the same topic on the same brokers, in one run.
//
//	Load ──▶ topic ──▶ Bare: poll and count, read_committed, in a group        ──▶ events/s
//	               └─▶ Fold: the processor, exactly once, into a fresh store   ──▶ events/s
//
// The first quarter of each run is not timed: connections, caches and the commit interval settle in it. It judges
// nothing; it prints figures.
package broker
