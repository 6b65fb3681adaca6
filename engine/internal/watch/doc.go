// Package watch reports on work that is not done: which principals are worked on at the moment ([Running]), for what others wait and until
// when, what failed, and which deactivations are overdue. It starts and stops nothing.
package watch
