// Package authn serves the primary authentication: users sign in with a password, change an expired password, activate their accounts and
// recover forgotten passwords. These operations require no API token.
//
// An incomplete sign-in continues with its state token. A complete sign-in has a session token, which is shown once and is valid for
// minutes. Only hashes of both are stored. Further factors are checked through package mfa, and the sign-on policy decides whether they are
// required.
package authn
