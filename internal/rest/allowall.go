package rest

import (
	"context"
	"net/http"
)

// AllowAll is a Guard and a Limiter that allow all requests, for handlers behind the authorization of an embedder.
type AllowAll struct{}

// Authenticate implements Guard.
func (AllowAll) Authenticate(r *http.Request) (Principal, error) { return Caller(r.Context()), nil }

// Authorize implements Guard.
func (AllowAll) Authorize(context.Context, Principal, Info) error { return nil }

// Take implements Limiter.
func (AllowAll) Take(_, _ string) (none Quota) { return none }
