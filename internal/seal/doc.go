// Package seal encrypts the secrets that must be decrypted later: the tokens of provisioning connections and the passwords of app
// assignments in the management API, and the tokens of the sandbox. The packages that store such a secret call seal: connection.go of
// mgmtapi/internal/apps/connections seals the token of a SCIM connection.
//
// It is not for secrets that are only compared, such as API tokens and sign-in passwords: those are hashed and never decrypted.
package seal
