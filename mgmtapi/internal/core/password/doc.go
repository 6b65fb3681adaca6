// Package password validates, hashes and verifies the secrets that users choose: passwords, under the password policy, and answers to
// recovery questions, which are compared ignoring case.
//
// The package does not access the store or serve requests. The users and the primary authentication share it: both set and check passwords.
// Random secrets do not need a slow hash, see model.SecretHash.
package password
