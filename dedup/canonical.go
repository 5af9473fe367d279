package dedup

// Canonical is what of a value the changes alone decide: the settings. What is kept of a key, and for how long, depends on the
// times at which timers fired. By it a replay is compared with the live task. See stream.Processor.
func Canonical(table byte, _, value []byte) []byte {
	if table == TablePools {
		return value
	}
	return nil
}
