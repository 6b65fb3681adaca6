// Package seal encrypts the secrets that the management API has to give back
// to itself later: the tokens of provisioning connections and the passwords of
// app assignments. The slices seal what they store: connection.go of mgmtapi/provisioning
// seals the token of a SCIM connection.
//
// It is not for secrets that only have to be recognised, such as API tokens
// and sign-in passwords; those are hashed and never decrypted.
package seal
