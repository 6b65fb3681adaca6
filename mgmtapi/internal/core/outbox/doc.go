// Package outbox stores the messages that a production service would send by email or phone: activation links, password reset links, codes.
// In a sandbox, there are no mailboxes; users read the messages here.
//
// The outbox is the only place where issued tokens and codes can be read again. Three limits bound the exposure: it exists only in a
// sandbox, messages are encrypted at rest, and their number and age are limited. The package sends nothing.
package outbox
