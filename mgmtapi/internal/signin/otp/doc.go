// Package otp makes and checks one-time passcodes: random ones that are sent to somebody, and those that a device computes from a
// counter (RFC 4226) or from the time (RFC 6238). It keeps nothing and knows no users.
package otp
