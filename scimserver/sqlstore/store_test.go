package sqlstore_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/sqlstore"
	"github.com/scimwright/scimwright/scimserver/storetest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// open returns a store with the default options except for the types.
func open(t testing.TB, p sqldbtest.Place, types ...*schema.ResourceType) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), p.Open(t), sqlstore.Options{Dialect: sqlstore.Dialect(p.Dialect.String()), Types: types})
	require.NoError(t, err)
	return store
}

// TestStore_SatisfiesContract runs the tests of storetest; on PostgreSQL with tables in a schema that is not in the search path.
func TestStore_SatisfiesContract(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) scimserver.Store { return open(t, sqldbtest.SQLitePlace(t)) })
	})
	t.Run("postgres", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) scimserver.Store {
			db := sqldbtest.PostgresPlace(t).Open(t)
			o := sqlstore.Options{Dialect: sqlstore.Postgres, Schema: "scim of " + sqldbtest.CurrentSchema(t, db)}
			sqldbtest.DropSchema(t, db, o.Schema)
			store, err := sqlstore.Open(t.Context(), db, o)
			require.NoError(t, err)
			return store
		})
	})
}

// TestStore_Pooled runs the tests of storetest through PgBouncer in transaction mode.
func TestStore_Pooled(t *testing.T) {
	db := sqldbtest.PooledPlace(t).Open(t)
	schemas := 0
	storetest.Run(t, func(t *testing.T) scimserver.Store {
		schemas++
		store, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.Postgres, Schema: fmt.Sprint("scim", schemas)})
		require.NoError(t, err)
		return store
	})
}

// TestSelect_UsesIndexes checks which filters need no scan.
func TestSelect_UsesIndexes(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		store := open(t, p)
		ann, err := store.Create(t.Context(), storetest.User("ann"), nil)
		require.NoError(t, err)
		_, err = store.Create(t.Context(), storetest.Group("team"), []string{ann.ID})
		require.NoError(t, err)
		for _, test := range []struct {
			typ, filter string
			exact       bool
			total       int
		}{
			{"User", `userName eq "ANN"`, true, 1},
			{"User", `userName sw "a"`, true, 1},
			{"User", `urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ann"`, true, 1},
			{"User", `externalId eq "x"`, true, 0},
			{"User", `id eq "` + ann.ID + `"`, true, 1},
			{"User", `displayName eq "x"`, true, 0},
			{"User", `emails.value eq "x"`, true, 0},
			{"User", `meta.lastModified ge "2001-01-01T00:00:00Z" and userName eq "ann"`, true, 1},
			{"User", `not (userName eq "ann")`, true, 0},
			{"User", `userName co "n"`, false, 0},
			{"User", `title pr`, false, 0},
			{"User", `userName eq "ann" and active eq true`, false, 0},
			{"User", `groups.value eq "x"`, false, 0},
			{"Group", `displayName eq "TEAM"`, true, 1},
			{"Group", `members.value eq "` + ann.ID + `"`, true, 1},
			{"Group", `members eq "` + ann.ID + `"`, true, 1},
			{"Group", `members[value eq "` + ann.ID + `"] and displayName eq "team"`, true, 1},
			{"Group", `members.value eq "nobody"`, true, 0},
			{"Group", `members pr`, false, 0},
		} {
			t.Run(test.filter, func(t *testing.T) {
				f, err := filter.Parse(test.filter)
				require.NoError(t, err)
				found, exact, err := store.Select(t.Context(), scimserver.Query{Type: test.typ, Filter: f, Limit: 10})
				require.NoError(t, err)
				require.Equal(t, test.exact, exact)
				require.Equal(t, test.total, found.Total)
				require.Len(t, found.Records, test.total)
			})
		}
	})
}

func TestUniqueAttributesOfCustomSchemas(t *testing.T) {
	device := &schema.ResourceType{
		ID: "Device", Name: "Device", Endpoint: "/Devices",
		Schema: &schema.Schema{ID: "urn:example:2.0:Device", Attributes: []*schema.Attribute{
			{Name: "serial", CaseExact: true, Uniqueness: schema.Server},
			{Name: "port", Type: schema.Integer, Uniqueness: schema.Server},
			{Name: "macs", MultiValued: true, Uniqueness: schema.Server},
		}},
		Extensions: []schema.Extension{{Schema: &schema.Schema{ID: "urn:example:ext:2.0:Asset", Attributes: []*schema.Attribute{
			{Name: "tag", Uniqueness: schema.Global},
			{Name: "owner", Type: schema.Complex, SubAttributes: []*schema.Attribute{{Name: "badge", Uniqueness: schema.Server}}},
		}}}},
	}
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		store := open(t, p, device)
		n := 0
		create := func(text string) error {
			n++
			o, err := scim.Decode([]byte(text))
			require.NoError(t, err)
			_, err = store.Create(t.Context(), &scimserver.Record{Type: "Device", ID: fmt.Sprint(n), Resource: &scim.Resource{Object: *o}}, nil)
			return err
		}
		require.NoError(t, create(`{"serial":"A","port":1,"macs":["x","y"],"urn:example:ext:2.0:Asset":{"tag":"T","owner":{"badge":"B"}}}`))
		require.NoError(t, create(`{"serial":"a","port":2,"macs":["z"]}`), "serial is case exact")
		for text, attribute := range map[string]string{
			`{"serial":"A"}`: "serial",
			`{"port":1}`:     "port",
			`{"macs":["Y"]}`: "macs",
			`{"urn:example:ext:2.0:Asset":{"tag":"t"}}`:             "urn:example:ext:2.0:Asset:tag",
			`{"urn:example:ext:2.0:Asset":{"owner":{"badge":"b"}}}`: "urn:example:ext:2.0:Asset:owner.badge",
		} {
			unique, ok := errors.AsType[*scimserver.UniqueError](create(text))
			require.True(t, ok, text)
			require.Equal(t, attribute, unique.Attribute)
		}
	})
}

// TestIndexes_FollowSchemaChanges checks that a change of caseExact in the schema also applies to stored resources.
func TestIndexes_FollowSchemaChanges(t *testing.T) {
	device := func(exact bool) *schema.ResourceType {
		return &schema.ResourceType{ID: "Device", Name: "Device", Endpoint: "/Devices",
			Schema: &schema.Schema{ID: "urn:example:2.0:Device", Attributes: []*schema.Attribute{
				{Name: "serial", CaseExact: exact, Uniqueness: schema.Server},
			}}}
	}
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		db := p.Open(t)
		reopen := func(exact bool) (*sqlstore.Store, error) {
			o := options(p)
			o.Types = []*schema.ResourceType{device(exact)}
			return sqlstore.Open(t.Context(), db, o)
		}
		create := func(s *sqlstore.Store, serial string) error {
			r := &scim.Resource{}
			r.Set("serial", serial)
			_, err := s.Create(t.Context(), &scimserver.Record{Type: "Device", ID: "id-" + serial, Resource: r}, nil)
			return err
		}
		found := func(s *sqlstore.Store, serial string) int {
			f, err := filter.Parse(fmt.Sprintf("serial eq %q", serial))
			require.NoError(t, err)
			selection, exact, err := s.Select(t.Context(), scimserver.Query{Type: "Device", Filter: f, Limit: 10})
			require.NoError(t, err)
			require.True(t, exact)
			return selection.Total
		}
		exactly, err := reopen(true)
		require.NoError(t, err)
		require.NoError(t, create(exactly, "Abc"))
		require.Zero(t, found(exactly, "aBC"))

		folded, err := reopen(false)
		require.NoError(t, err)
		require.Equal(t, 1, found(folded, "aBC"))
		require.ErrorAs(t, create(folded, "ABC"), new(*scimserver.UniqueError))

		exactly, err = reopen(true)
		require.NoError(t, err)
		require.Zero(t, found(exactly, "aBC"))
		require.NoError(t, create(exactly, "ABC"))

		_, err = reopen(false)
		require.ErrorContains(t, err, "another document has the same serial", "two resources cannot be merged")
		exactly, err = reopen(true)
		require.NoError(t, err, "the failed change had no effect")
		require.Equal(t, 1, found(exactly, "ABC"))
	})
}

// TestOpen_PrefixesIsolateStores checks that two stores with different prefixes in one database share no resources.
func TestOpen_PrefixesIsolateStores(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		var stores []*sqlstore.Store
		db := p.Open(t)
		for _, prefix := range []string{"acme_", "globex_"} {
			store, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.Dialect(p.Dialect.String()), Prefix: prefix})
			require.NoError(t, err)
			stores = append(stores, store)
		}
		ann, err := stores[0].Create(t.Context(), storetest.User("ann"), nil)
		require.NoError(t, err)
		_, err = stores[1].Get(t.Context(), "User", ann.ID)
		require.ErrorIs(t, err, scimserver.ErrNotFound)
		_, err = stores[1].Create(t.Context(), storetest.User("ann"), nil)
		require.NoError(t, err)
	})
}
