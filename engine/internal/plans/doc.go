// Package plans makes a plan of what would be done for many principals, by dry runs, and applies one: it marks exactly what was listed, and
// only while nothing has changed that the plan is about.
package plans
