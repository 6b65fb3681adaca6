// Package yubikey verifies the one-time passwords of hardware tokens: a public id and an encrypted block, both in modhex, as the YubiKey
// manual describes them (section 6.1, "Yubico OTP").
//
// The package stores nothing. The caller stores the key, the private id, and the counter of the last accepted password.
package yubikey
