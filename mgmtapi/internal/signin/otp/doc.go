// Package otp generates and checks one-time passcodes: random passcodes for messages, and passcodes that a device computes from a counter
// (RFC 4226) or from the time (RFC 6238). It stores nothing and does not depend on users.
package otp
