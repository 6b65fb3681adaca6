// Package password judges, hashes and verifies what people choose as secrets: passwords, under the password policy,
// and answers to recovery questions, which are compared without case.
//
// It stores nothing and answers nobody: the users and the primary authentication, which both set and check passwords, share
// it. Random secrets need less, see model.SecretHash.
package password
