// Package imports reads the accounts or groups of a target by pages and decides whose they are. A [Worker] works on runs that any engine of
// the store has started, and continues after a crash at the page where the run was left.
package imports
