package oracle

import "iter"

// Shrink goes from something that fails to something smaller that still does, until nothing smaller fails or the tries are
// used up. Smaller yields what is simpler by one step, the boldest step first; it must never lead back.
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
