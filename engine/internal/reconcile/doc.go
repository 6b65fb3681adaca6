// Package reconcile compares the list of a target with the desired state of the directory and reports drift. It can mark the principals
// whose drift a sequence repairs. Package drift determines the differences. Package reconcile writes nothing to the target.
package reconcile
