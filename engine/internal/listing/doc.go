// Package listing reads the lists of a target outside of its lane, at the rate limit of the app, for imports and for drift. A [Reader]
// sends only GET requests. plan.Pages decides whether a list is consistent.
package listing
