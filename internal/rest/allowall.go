package rest

import (
	"context"
	"encoding/json"
	"fmt"
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

// DocumentJSON returns the OpenAPI document of the table as indented JSON.
func (h *Handler) DocumentJSON(title, version string) ([]byte, error) {
	doc, err := h.Document(title, version)
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("rest: encode the document: %w", err)
	}
	return append(data, '\n'), nil
}
