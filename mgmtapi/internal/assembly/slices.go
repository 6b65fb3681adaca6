package assembly

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/apitokens"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/customroles"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/roles"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/apps"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/assignments"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/connections"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
	"github.com/scimwright/scimwright/mgmtapi/internal/directory/grouprules"
	"github.com/scimwright/scimwright/mgmtapi/internal/directory/groups"
	"github.com/scimwright/scimwright/mgmtapi/internal/directory/mappings"
	"github.com/scimwright/scimwright/mgmtapi/internal/directory/schemas"
	"github.com/scimwright/scimwright/mgmtapi/internal/directory/users"
	"github.com/scimwright/scimwright/mgmtapi/internal/directory/usertypes"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/hookkeys"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/inlinehooks"
	"github.com/scimwright/scimwright/mgmtapi/internal/log/syslog"
	"github.com/scimwright/scimwright/mgmtapi/internal/oauth/authservers"
	"github.com/scimwright/scimwright/mgmtapi/internal/oauth/endpoints"
	"github.com/scimwright/scimwright/mgmtapi/internal/oauth/grants"
	"github.com/scimwright/scimwright/mgmtapi/internal/sandboxapi"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/authn"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/factors"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/hardwaretokens"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/policies"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/sessions"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/smstemplates"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

// slicesOf creates the slices. Event handlers run in the order in which the slices are created, those of the log first.
func slicesOf(d model.Deps, o Options, keys *tokens.Keys, logs *syslog.Slice, caller *calls.Caller, operations func() []rest.Info,
	keepTokens func(ctx context.Context, tx docstore.Execer, now time.Time) error) ([]rest.Slice, *imports.Service) {
	var explained func() []rest.Info // only with /sandbox/v1
	if o.Work != nil {
		explained = operations
	}
	var people *users.Slice
	show := func(ctx context.Context, q docstore.Reader, id string) (any, error) { return people.Show(ctx, q, id) }
	var box *outbox.Box
	if o.Work != nil { // only a sandbox stores messages to users, in the outbox
		box = outbox.New(d, o.Secrets)
	}
	assigned := assignments.New(d, assignments.Options{Secrets: o.Secrets, Outbox: box, User: show, Syncing: o.Syncing})
	people = users.New(d, users.Options{HashCost: o.HashCost, Outbox: box})
	apiTokens := apitokens.New(d)
	further := factors.New(d, factors.Options{
		Secrets: o.Secrets, HashCost: o.HashCost, Outbox: box, AnswerReplays: o.AnswerReplays, RelaxedFIDO: o.RelaxedFIDO, BaseURL: o.BaseURL,
		Telephony: caller, Logger: o.Logger,
	})
	domains := tokens.Domains{Custom: o.CustomDomain, Dynamic: o.DynamicIssuer}
	var list []rest.Slice
	scopes := sync.OnceValue(func() []string { return scopesOf(list) })
	list = []rest.Slice{
		people,
		authn.New(d, authn.Options{HashCost: o.HashCost, Hook: caller, Factors: further}),
		sessions.New(d),
		further,
		groups.New(d),
		grouprules.New(d),
		apps.New(d, apps.Options{Secrets: o.Secrets, KeySource: o.KeySource, Subdomain: o.Subdomain, AppUser: assigned.Show, Scopes: scopes}),
		assigned,
		connections.New(d, connections.Options{Secrets: o.Secrets, Tester: o.Connections, Rescheduled: o.Rescheduled}),
		policies.New(d),
		usertypes.New(d),
		schemas.New(d),
		smstemplates.New(d),
		customroles.New(d),
		roles.New(d, roles.Options{Operations: explained}),
		mappings.New(d),
		hookkeys.New(d, hookkeys.Options{Secrets: o.Secrets, KeySource: o.KeySource}),
		inlinehooks.New(d, inlinehooks.Options{Secrets: o.Secrets, Caller: caller}),
		apiTokens,
		hardwaretokens.New(d, hardwaretokens.Options{Secrets: o.Secrets, User: show}),
		authservers.New(d, authservers.Options{Keys: keys, Domains: domains}),
		endpoints.New(d,
			endpoints.Options{Keys: keys, Domains: domains, Secrets: o.Secrets, HashCost: o.HashCost, Logger: o.Logger, Transformer: caller,
				Hook: caller}),
		grants.New(d),
		logs,
	}
	importing := imports.New(d, imports.Options{
		Engine: o.Imports, Hook: caller, Create: people.Import, Update: people.UpdateImported,
		TakeOver: func(ctx context.Context, tx *docstore.Tx, app, user string, a imports.TakenOver) error {
			return assigned.TakeOver(ctx, tx, app, user, assignments.Account(a))
		},
	})
	if o.Work != nil {
		list = append(list, sandboxapi.New(d, sandboxapi.Options{
			Work: o.Work, Providers: o.Providers, Provision: assigned.Provision, CreateToken: createToken(apiTokens),
			Outbox: box, Released: o.Released, Clock: o.Clock, KeepTokens: keepTokens, Reset: o.Reset,
		}))
	}
	return list, importing
}

// scopesOf lists the scopes of the management API that the operations of the slices require.
func scopesOf(list []rest.Slice) []string {
	var scopes []string
	for _, s := range list {
		for _, route := range s.Routes() {
			scopes = append(scopes, rest.Describe(route).Scopes...)
		}
	}
	slices.Sort(scopes)
	scopes = slices.Compact(scopes)
	return slices.DeleteFunc(scopes, func(scope string) bool { return !strings.HasPrefix(scope, "svc.") })
}
