// Package signkey generates the RSA keys of applications, authorization servers and hooks, encrypts their private keys at rest, renders
// their public keys as JSON Web Keys (RFC 7517) and signs with RS256. The slices that own the keys decide which key signs what, and when a
// key replaces another.
package signkey
