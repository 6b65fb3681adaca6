// Package explain joins what the directory says about one principal with what the engine knows and has sent. The target is not queried.
package explain
