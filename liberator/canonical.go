package liberator

// Canonical is what of a value the changes alone decide: not when timers were to fire and what was commanded by then, nor the
// budgets. By it a replay is compared with the live task. See stream.Processor.
func Canonical(table byte, _, value []byte) []byte {
	switch table {
	case TableResources:
		r, err := ParseResource(value)
		if err != nil {
			return value
		}
		r.Timer, r.Tries, r.Slot = 0, 0, false
		return r.append(nil)
	case TableBudgets:
		return nil
	}
	return value
}
