package daemon

import (
	"context"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/rest"
)

// haltedAtStart is the reason of the halts of a start with Options.StartHalted.
const haltedAtStart = "the daemon was started with --start-halted"

// haltApps halts all apps in the database, before the engine starts. An app that is created later is not halted.
func (d *Daemon) haltApps(ctx context.Context) error {
	var all []string
	for after := ""; ; {
		page, err := d.store.Apps(ctx, after, desired.MaxPage)
		if err != nil {
			return err
		}
		for i := range page {
			all = append(all, page[i].ID)
		}
		if len(page) < desired.MaxPage {
			break
		}
		after = page[len(page)-1].ID
	}
	if err := d.engineStore.HaltApps(ctx, all, haltedAtStart, time.Now()); err != nil {
		return err
	}
	d.options.Logger.WarnContext(ctx, "all apps are halted, because the daemon was started with --start-halted; each start with it halts "+
		"them again", "apps", len(all), "end", "scimwright engine resume --halted-at-start")
	return nil
}

// Resumed is the result of the end of the halts of a start.
type Resumed struct {
	Apps []string `json:"apps" readOnly:"true" doc:"ids of the apps that are no longer halted; with allTenants: TENANT:APP"`
}

type resumeRequest struct {
	All bool `query:"allTenants" default:"false" doc:"the apps of all tenants; requires the permission fleet"`
}

// resumeHalted ends the halts of a start with --start-halted for the apps of a tenant, or of all tenants.
func (a *api) resumeHalted(ctx context.Context, r *resumeRequest) (Resumed, error) {
	x := exchangeOf(ctx)
	prefix := tenantPrefix(ctx)
	if r.All {
		if !x.token.has(engine.AccessFleet) {
			return Resumed{}, rest.Failf(rest.CodeForbidden, "The apps of all tenants require the permission %s.", engine.AccessFleet)
		}
		prefix = ""
	}
	done := Resumed{Apps: []string{}}
	halted, err := a.engineStore.HaltedApps(ctx, haltedAtStart)
	for _, app := range halted {
		if err == nil && strings.HasPrefix(app, prefix) {
			if err = a.engine.Apps().Resume(ctx, app); err == nil {
				done.Apps = append(done.Apps, strings.TrimPrefix(app, prefix))
			}
		}
	}
	return done, err
}
