// Package listing reads the lists of a target outside of its lane, at the rate limit of the app, for imports and for drift. A [Reader]
// sends nothing but GET. Which list is consistent is decided by plan.Pages.
package listing
