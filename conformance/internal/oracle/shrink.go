package oracle

import "iter"

// Shrink reduces a failing value to a smaller one that still fails, until no smaller value fails or the tries are used up. smaller yields
// the values that are one step simpler, the largest step first; it must never return to an earlier value.
func Shrink[T any](start T, smaller func(T) iter.Seq[T], fails func(T) bool, tries int) T {
	for tries > 0 {
		next, found := start, false
		for candidate := range smaller(start) {
			if tries == 0 {
				break
			}
			tries--
			if fails(candidate) {
				next, found = candidate, true
				break
			}
		}
		if !found {
			break
		}
		start = next
	}
	return start
}
