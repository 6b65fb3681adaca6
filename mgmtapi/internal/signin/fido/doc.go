// Package fido checks what authenticators answer to WebAuthn ceremonies: registrations (W3C Web Authentication, section 7.1) and
// assertions (section 7.2), with every signature, by go-webauthn.
//
// It decides no more than whether an answer is genuine. Which attestation roots are trusted is not asked: anybody's
// authenticator may be enrolled. The older U2F messages are the matter of mgmtapi/internal/signin/fido/u2f.
package fido
