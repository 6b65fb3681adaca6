// Package imports reads the accounts or groups of a target page by page and matches them to principals. A [Worker] processes the runs that
// any engine with the same store has started, as jobs. After a crash, the next attempt of the job continues at the page where the run
// stopped.
package imports
