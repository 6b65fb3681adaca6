// Package authn serves the primary authentication: people sign in with a password, change one that has expired, activate
// themselves and recover forgotten passwords. These operations need no API token.
//
// A sign-in that is not complete goes on with its state token; a complete one has a session token, which is shown once and
// lives for minutes. Only hashes of both are stored. The package knows neither further factors nor sign-on policies.
package authn
