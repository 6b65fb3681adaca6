// Package principal has the functions for one user or group of an app that the packages of the engine share: validation of its name, its
// stored state, and the part of that state that callers see.
package principal
