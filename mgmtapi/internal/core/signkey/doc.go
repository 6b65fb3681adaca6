// Package signkey makes the RSA keys of applications, authorization servers and hooks, keeps their private halves sealed, shows their
// public halves as JSON Web Keys (RFC 7517) and signs with RS256. Which key signs what, and when one takes the place of another, is for
// the slices that own them.
package signkey
