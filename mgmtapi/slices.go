package mgmtapi

import (
	"github.com/scimwright/scimwright/mgmtapi/apitokens"
	"github.com/scimwright/scimwright/mgmtapi/apps"
	"github.com/scimwright/scimwright/mgmtapi/assignments"
	"github.com/scimwright/scimwright/mgmtapi/authn"
	"github.com/scimwright/scimwright/mgmtapi/grouprules"
	"github.com/scimwright/scimwright/mgmtapi/groups"
	"github.com/scimwright/scimwright/mgmtapi/iam"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/provisioning"
	"github.com/scimwright/scimwright/mgmtapi/rest"
	"github.com/scimwright/scimwright/mgmtapi/roles"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
	"github.com/scimwright/scimwright/mgmtapi/schemas"
	"github.com/scimwright/scimwright/mgmtapi/syslog"
	"github.com/scimwright/scimwright/mgmtapi/users"
	"github.com/scimwright/scimwright/mgmtapi/usertypes"
)

// slicesOf lists the slices. Reactions run in the order in which the slices are made, those of the log first.
func slicesOf(d model.Deps, o Options, logs *syslog.Slice, operations func() []rest.Info) []rest.Slice {
	var explained func() []rest.Info // with the rest of /sandbox/v1
	if o.Work != nil {
		explained = operations
	}
	assigned := assignments.New(d, assignments.Options{Secrets: o.Secrets})
	tokens := apitokens.New(d)
	list := []rest.Slice{
		users.New(d, users.Options{HashCost: o.HashCost}),
		authn.New(d, authn.Options{HashCost: o.HashCost}),
		groups.New(d),
		grouprules.New(d),
		apps.New(d, apps.Options{Secrets: o.Secrets, Subdomain: o.Subdomain}),
		assigned,
		provisioning.New(d, provisioning.Options{Secrets: o.Secrets, Tester: o.Connections}),
		usertypes.New(d),
		schemas.New(d),
		iam.New(d),
		roles.New(d, roles.Options{Operations: explained}),
		tokens,
		logs,
	}
	if o.Work != nil {
		list = append(list, sandboxapi.New(d, sandboxapi.Options{Work: o.Work, Engine: o.Engine, Providers: o.Providers, Provision: assigned.Provision, CreateToken: createToken(tokens)}))
	}
	return list
}
