// Package hardwaretokens serves the hardware tokens of the organization: what is known of them, and who has them.
//
// Which passwords they type is checked by mgmtapi/internal/core/yubikey when a user enrolls with one or verifies; both is the matter of
// mgmtapi/internal/signin/factors. The seeds are sealed, and nobody is shown them again.
package hardwaretokens
