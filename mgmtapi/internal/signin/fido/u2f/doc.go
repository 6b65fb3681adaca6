// Package u2f checks the messages of U2F tokens (FIDO U2F Raw Message Formats 1.1): registrations with their attestation, and
// authentications, with every signature.
//
// It does not check the vendor of a token: any certificate that signed the registration is accepted.
package u2f
