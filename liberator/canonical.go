package liberator

// Canonical returns the part of a value that the changes alone determine. Budgets, timers and
// commands depend on the times at which timers fired. See stream.Processor.
func Canonical(table byte, _, value []byte) []byte {
	switch table {
	case TableResources:
		r, err := ParseResource(value)
		if err != nil {
			return value
		}
		r.Timer, r.Tries, r.HasSlot = 0, 0, false
		return r.append(nil)
	case TableBudgets:
		return nil
	}
	return value
}
