package mgmtapi

import (
	"github.com/scimwright/scimwright/mgmtapi/apitokens"
	"github.com/scimwright/scimwright/mgmtapi/apps"
	"github.com/scimwright/scimwright/mgmtapi/assignments"
	"github.com/scimwright/scimwright/mgmtapi/authn"
	"github.com/scimwright/scimwright/mgmtapi/grouprules"
	"github.com/scimwright/scimwright/mgmtapi/groups"
	"github.com/scimwright/scimwright/mgmtapi/hookkeys"
	"github.com/scimwright/scimwright/mgmtapi/hooks"
	"github.com/scimwright/scimwright/mgmtapi/inlinehooks"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/provisioning"
	"github.com/scimwright/scimwright/mgmtapi/rest"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
	"github.com/scimwright/scimwright/mgmtapi/schemas"
	"github.com/scimwright/scimwright/mgmtapi/syslog"
	"github.com/scimwright/scimwright/mgmtapi/users"
	"github.com/scimwright/scimwright/mgmtapi/usertypes"
)

// slicesOf lists the slices. Reactions run in the order in which the slices are made, those of the log first.
func slicesOf(d model.Deps, o Options, logs *syslog.Slice, caller *hooks.Caller) []rest.Slice {
	assigned := assignments.New(d, assignments.Options{Secrets: o.Secrets})
	tokens := apitokens.New(d)
	list := []rest.Slice{
		users.New(d, users.Options{HashCost: o.HashCost}),
		authn.New(d, authn.Options{HashCost: o.HashCost, Hook: caller}),
		groups.New(d),
		grouprules.New(d),
		apps.New(d, apps.Options{Secrets: o.Secrets, Subdomain: o.Subdomain}),
		assigned,
		provisioning.New(d, provisioning.Options{Secrets: o.Secrets, Tester: o.Connections}),
		usertypes.New(d),
		schemas.New(d),
		hookkeys.New(d, hookkeys.Options{Secrets: o.Secrets}),
		inlinehooks.New(d, inlinehooks.Options{Secrets: o.Secrets, Caller: caller}),
		tokens,
		logs,
	}
	if o.Work != nil {
		list = append(list, sandboxapi.New(d, sandboxapi.Options{Work: o.Work, Engine: o.Engine, Providers: o.Providers, Provision: assigned.Provision, CreateToken: createToken(tokens)}))
	}
	return list
}
