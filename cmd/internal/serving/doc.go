// Package serving contains the parts that the long-running programs share, each in a file with its name: the HTTP server (httpserver.go),
// the address of the metrics, the key file (secretkey.go), the file with the addresses of a started program (ready.go), the check of a
// database URL (database.go), the name of a process and the lock of a data directory (lock.go), the command that started the program
// (program.go), the scheduler of jobs, the log of failures, the joining of two OpenAPI documents, and the list of what a program closes at
// its end (closing.go). It starts nothing without a call of a program.
package serving
