package console

import (
	"context"
	"errors"
	"slices"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
)

// ErrNoCaller is the error of a Host for a credential that gives no access.
var ErrNoCaller = errors.New("console: the credential is not valid")

// Host is the process that serves the console.
type Host interface {
	// Caller returns the caller with a credential of the API, or ErrNoCaller.
	Caller(ctx context.Context, credential string) (Caller, error)
	// Grant returns a credential for a login with a one-time code.
	Grant(ctx context.Context) (credential string, err error)
	// Revoke ends a credential that Grant has returned.
	Revoke(ctx context.Context, credential string) error
	// Apps returns the apps of a tenant (see Caller.Tenant), with their ids in the engine.
	Apps(ctx context.Context, tenant string) ([]control.App, error)
	// Names returns the logins of users and the names of groups of an app. It omits unknown principals.
	Names(ctx context.Context, app string, principals []engine.Principal) (map[engine.Principal]string, error)
}

// Caller is the caller of a session.
type Caller struct {
	Name string
	// Tenant is the prefix of the ids of the caller's apps in the engine. Pages and the API show the ids without it.
	Tenant string
	// Access are the permissions, such as engine.AccessRead. engine.AccessFleet includes all others.
	Access []string
}

// May reports whether the caller has a permission.
func (c Caller) May(access string) bool {
	return slices.Contains(c.Access, access) || slices.Contains(c.Access, engine.AccessFleet)
}

// AllAccess are the permissions of a caller without restrictions.
func AllAccess() []string {
	return []string{engine.AccessRead, engine.AccessWrite, engine.AccessApps, engine.AccessApprove, engine.AccessFleet}
}

type callerKey struct{}

// CallerOf returns the caller of a request of the console to Options.API.
func CallerOf(ctx context.Context) (c Caller, ok bool) {
	c, ok = ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// Reads has what concerns all apps at a time, and is therefore not part of the control API. Ids of apps are those in the engine.
type Reads interface {
	Lags(ctx context.Context) ([]engine.Lag, error)
	// Attempts returns exchanges, newest first, of all apps if the query has no app.
	Attempts(ctx context.Context, q engine.AttemptQuery) ([]engine.Attempt, error)
	// Imports returns the imports of an app, newest first.
	Imports(ctx context.Context, app string) ([]engine.ImportRun, error)
}
