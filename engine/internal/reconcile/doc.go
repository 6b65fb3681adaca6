// Package reconcile compares the list of a target with the desired state of the directory, reports drift and marks what a sequence can
// repair. Package drift determines the differences. Nothing is written to the target.
package reconcile
