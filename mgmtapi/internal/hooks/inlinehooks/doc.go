// Package inlinehooks serves the inline hooks: endpoints outside that are registered to be asked while something is decided here.
//
// How an endpoint is called and what is done with its answer is the matter of mgmtapi/internal/hooks/calls. What is a secret in a channel is
// written only: it is stored sealed and never shown again.
package inlinehooks
