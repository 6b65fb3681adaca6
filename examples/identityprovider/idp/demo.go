package idp

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
)

// step is a change in the provider's tables, and the resulting state of the application.
type step struct {
	title     string
	statement string
	user      string // empty if the application has no account
	team      string
}

var steps = []step{
	{"hire Ann", `INSERT INTO person VALUES ('p1', 'ann@example.com', 'Ann', 'Sales', 'free')`, "", "Sales: 0"},
	{"assign her to the CRM", `INSERT INTO assignment VALUES ('crm', 'p1')`, "ann@example.com, Ann, Free of charge, active", "Sales: 1"},
	{"change her plan", `UPDATE person SET plan = 'pro' WHERE id = 'p1'`, "ann@example.com, Ann, Professional, active", "Sales: 1"},
	{"take the CRM away", `DELETE FROM assignment WHERE person = 'p1'`, "ann@example.com, Ann, Professional, inactive", "Sales: 0"},
	{"assign her again", `INSERT INTO assignment VALUES ('crm', 'p1')`, "ann@example.com, Ann, Professional, active", "Sales: 1"},
	{"delete Ann", `DELETE FROM person WHERE id = 'p1'`, "ann@example.com, Ann, Professional, inactive", "Sales: 0"},
}

// Demo creates the provider's tables in db, lets the engine provision each step into a SCIM server, and prints the state of the server.
// Demo returns an error if the state differs from the expected state. The function open opens the engine's store on db, and the scheduler
// of its jobs; nil means the default scheduler.
func Demo(ctx context.Context, out io.Writer, db *sql.DB, open func() (store.Store, jobs.Scheduler, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	const token = "token-of-the-crm"
	resources := memstore.New()
	handler, err := scimserver.New(scimserver.Options{Store: resources, Tokens: scimserver.StaticTokens(token), Prefix: "/scim/v2"})
	if err != nil {
		return err
	}
	server := httptest.NewServer(handler) // represents the application
	defer server.Close()

	provider, err := New(ctx, db, engine.Target{
		BaseURL: server.URL + "/scim/v2", Auth: engine.Auth{Scheme: engine.Bearer, Secret: token},
		CreateUsers: true, UpdateUsers: true, DeactivateUsers: true, PushGroups: true,
	})
	if err != nil {
		return err
	}
	st, scheduler, err := open()
	if err != nil {
		return err
	}
	e, err := provision.New(provision.Options{Store: st, Jobs: scheduler, Directory: provider})
	if err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	defer e.Stop(context.WithoutCancel(ctx))

	for _, s := range steps {
		if err := provider.Change(ctx, e, "p1", "Sales", s.statement); err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		if err := e.Wait(ctx, CRM); err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		user, team, err := read(ctx, server, token)
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		fmt.Fprintf(out, "%-22s %-50s %s\n", s.title, user, team)
		if user != s.user || team != s.team {
			return fmt.Errorf("%s: the application has %q and %q, want %q and %q", s.title, user, team, s.user, s.team)
		}
	}
	var plans int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM plan`).Scan(&plans); err != nil {
		return err
	}
	if plans != 2 {
		return errors.New("the provider's own table plan was changed")
	}
	return nil
}
