// Package u2f checks the messages of U2F tokens (FIDO U2F Raw Message Formats 1.1): registrations with their attestation, and
// authentications, with every signature.
//
// Who made a token is not asked: any certificate will do, as long as it signed the registration.
package u2f
