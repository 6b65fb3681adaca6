// Package hardwaretokens serves the hardware tokens of the organization and their assignment to users.
//
// Package mgmtapi/internal/signin/factors enrolls and verifies users with these tokens; mgmtapi/internal/core/yubikey checks the one-time
// passwords. The seeds are encrypted at rest and never shown again.
package hardwaretokens
