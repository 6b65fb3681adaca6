// Package imports reads the accounts or groups of a target page by page and matches them to principals. A [Worker] processes runs that any
// engine of the store has started. After a crash it continues at the page where the run stopped.
package imports
