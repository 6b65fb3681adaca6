// Package fido checks the responses of authenticators in WebAuthn ceremonies: registrations (W3C Web Authentication, section 7.1) and
// assertions (section 7.2), with every signature, by go-webauthn.
//
// It only checks whether a response is genuine. It does not check attestation roots: authenticators of any vendor may be enrolled. Package
// mgmtapi/internal/signin/fido/u2f checks the older U2F messages.
package fido
