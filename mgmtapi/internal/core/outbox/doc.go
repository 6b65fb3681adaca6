// Package outbox keeps the messages that a service with a post office would send: links for activations and new passwords, codes.
// Whoever tries something out in a sandbox has no mailbox, and reads them here.
//
// It is the one place where tokens and codes that were handed out can be read again, on purpose. That is bounded in three ways: the
// box is there in a sandbox only, messages are sealed at rest, and they are few and do not last. It sends nothing to anybody.
package outbox
