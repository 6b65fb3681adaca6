// Package principal is what the rooms of the engine share about one user or group of an app: whether its name is complete, what the
// store knows about it, and what a caller sees of that.
package principal
