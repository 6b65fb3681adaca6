package sandbox

import (
	"context"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/observe"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// chatTarget is the second built-in service provider. The seed has two applications, and each needs its own service provider: two
// applications that manage the same accounts would overwrite each other's changes.
const chatTarget = "chat"

// scimStores stores the resources of each tenant in separate tables of one database.
type scimStores struct {
	db  *sqldb.DB
	now func() time.Time
}

var _ tenants.Stores = scimStores{}

// Open implements tenants.Stores.
func (s scimStores) Open(ctx context.Context, name string, types []*schema.ResourceType) (scimserver.Store, error) {
	layout := scimstore.NewLayout(tablesOf(name), types...)
	docs, err := docstore.Open(ctx, s.db, s.now, layout.Tables()...)
	if err != nil {
		return nil, err
	}
	return scimstore.New(docs, layout), nil
}

// Drop implements tenants.Stores.
func (s scimStores) Drop(ctx context.Context, name string, types []*schema.ResourceType) error {
	return docstore.Drop(ctx, s.db, scimstore.NewLayout(tablesOf(name), types...).Tables()...)
}

// collections are the tables of a tenant.
func collections(c tenants.Config) []docstore.Table {
	return scimstore.NewLayout(tablesOf(c.Name), c.Types...).Tables()
}

// tablesOf returns the prefix of the names of a tenant's tables. A layout appends "_member", or "_type_" and the name of a resource type.
// Without the suffix "_t", the table of the members of a tenant "a-type" would have the same name as the table of a resource type "Member"
// of a tenant "a".
func tablesOf(name string) string {
	switch name {
	case tenants.Default:
		return "scim"
	case chatTarget:
		return "scim_" + chatTarget
	}
	return "t_" + strings.ReplaceAll(name, "-", "_") + "_t"
}

// newTenants returns an empty set of service providers on one database. Stores, Metrics and Now of the options are set here.
func newTenants(stores scimStores, o tenants.Options) (*tenants.Tenants, *observe.Metrics, error) {
	o.Stores, o.Metrics, o.Now = stores, observe.NewMetrics(), stores.now
	all, err := tenants.New(o)
	return all, o.Metrics, err
}
