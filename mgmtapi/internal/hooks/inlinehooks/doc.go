// Package inlinehooks serves the inline hooks: external endpoints that the service calls while it makes a decision.
//
// Package mgmtapi/internal/hooks/calls calls the endpoints and applies their responses. The secrets of a channel are write-only: they are
// stored encrypted and never returned.
package inlinehooks
