package sandboxport

import (
	"context"
	"errors"
	"time"
)

// ErrNoProvider is the error of Providers for an unknown service provider.
var ErrNoProvider = errors.New("sandboxport: service provider not found")

// Providers are the SCIM servers of the sandbox. Every method with the name of a service provider returns ErrNoProvider if the sandbox does
// not have it. Errors of package rest are for the client; the method has then changed nothing.
type Providers interface {
	// List returns all service providers, sorted by name.
	List() []Provider
	// Get returns one service provider.
	Get(name string) (Provider, error)
	// Create creates a service provider with one token, and returns the value of the token.
	Create(ctx context.Context, p NewProvider) (made Provider, token string, err error)
	// Remove stops a service provider that Create has created, and removes its resources.
	Remove(ctx context.Context, name string) error
	// Reset removes all resources of a service provider. Its tokens and quirks remain.
	Reset(ctx context.Context, name string) error
	// CreateToken creates a token and returns its value.
	CreateToken(ctx context.Context, name string, t NewToken) (made ProviderToken, value string, err error)
	// RemoveToken invalidates a token.
	RemoveToken(ctx context.Context, name, id string) error
	// Quirks returns the active quirks of a service provider and all available ones.
	Quirks(name string) (active []string, available []Quirk, err error)
	// SetQuirks replaces all quirks of a service provider in one step. An error other than ErrNoProvider names the invalid setting; the quirks
	// are then unchanged.
	SetQuirks(ctx context.Context, name string, active []string) error
}

// Provider is a service provider of the sandbox.
type Provider struct {
	Name    string
	Path    string // path of the SCIM base URL
	Created bool   // true if Providers.Create created the service provider; false if it is from the configuration
	Lenient []string
	Quirks  []string
	Tokens  []ProviderToken
}

// ProviderToken is the readable part of a token.
type ProviderToken struct {
	ID string
	NewToken
}

// NewProvider describes a service provider to create.
type NewProvider struct {
	Name    string
	Quirks  []string
	Lenient []string // names of the leniencies that the service provider accepts; nil means all
}

// NewToken describes a token to create.
type NewToken struct {
	ReadOnly bool
	Expires  time.Time // zero means never
	Me       string    // id of the user at /Me, empty if the token belongs to no user
}

// Quirk is a deviation that can be enabled.
type Quirk struct {
	Usage    string // syntax of a setting
	Category string // profile, fault or chaos
	Does     string // how the server deviates
	Seen     string // products that are known to deviate in this way, empty if no product is known
}
