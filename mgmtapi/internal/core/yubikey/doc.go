// Package yubikey reads the one-time passwords of hardware tokens that type them: a public id and an encrypted block, both in
// modhex, as the YubiKey manual describes them (section 6.1, "Yubico OTP").
//
// It keeps nothing. Whoever asks keeps the key, the private id, and the counters of the last password that was accepted.
package yubikey
