// Package serving contains the parts that the long-running programs share: the HTTP server, the address of the metrics, the files with the
// secret key and the addresses, the lock of the data, the scheduler of jobs, and the log of failures. Each part is in a file of its name.
// It starts nothing without a call of a program.
package serving
