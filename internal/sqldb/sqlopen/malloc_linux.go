//go:build cgo && !lint

package sqlopen

/*
#include <malloc.h>

static void limit_mapped(void) {
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

static void trim(void) {
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
*/
import "C"

// returnLarge makes the C library return the memory of large blocks to the system when they are freed. By default glibc keeps blocks of a
// size that was freed before, up to 32 MiB, in one arena for each thread: a few reads of large documents would keep tens of megabytes.
func returnLarge() { C.limit_mapped() }

// trim returns unused memory of the C library to the system.
func trim() { C.trim() }
