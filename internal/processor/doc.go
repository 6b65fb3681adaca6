// Package processor divides a processor among the threads of a machine, and measures its use. Code that computes for long calls Yield after
// each part of about 0.2 ms. Without it, a thread that becomes ready on the same processor waits until the time slice of this one ends, on
// Linux for 3 to 4 ms, which is many times the duration of a short request. If no thread waits, Yield takes less than 1 µs.
package processor
