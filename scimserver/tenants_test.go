package scimserver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// TestServiceProviders_Isolated checks that two service providers in one database, each with its own tables, cannot see each other's data.
func TestServiceProviders_Isolated(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		a, b := scimstore.NewLayout("tenant_a"), scimstore.NewLayout("tenant_b")
		docs, err := docstore.Open(t.Context(), db, nil, append(a.Tables(), b.Tables()...)...)
		require.NoError(t, err)
		own := serve(t, scimstore.New(docs, a))
		other := serve(t, scimstore.New(docs, b), func(o *scimserver.Options) { o.Tokens = scimserver.StaticTokens("token-b") })
		tokenB := as("token-b")
		secret := other.do(t, http.MethodPost, "/Users", user("ann", object{"externalId": "x"}), tokenB).want(t, http.StatusCreated).id()
		group1 := other.do(t, http.MethodPost, "/Groups", group("team", secret), tokenB).want(t, http.StatusCreated).id()

		own.do(t, http.MethodGet, "/Users", nil, tokenB).wantError(t, http.StatusUnauthorized, "")
		for _, path := range []string{"/Users/" + secret, "/Groups/" + group1} {
			body := user("z")
			if path != "/Users/"+secret {
				body = group("z")
			}
			own.do(t, http.MethodPut, path, body).wantError(t, http.StatusNotFound, "")
			own.patch(t, path, op("replace", "displayName", "z")).wantError(t, http.StatusNotFound, "")
			own.do(t, http.MethodGet, path, nil).wantError(t, http.StatusNotFound, "")
			own.do(t, http.MethodDelete, path, nil).wantError(t, http.StatusNotFound, "")
		}
		for _, path := range []string{"/Users", "/Groups", "/", filtered("/Users", `userName eq "ann"`), filtered("/Users", `externalId eq "x"`),
			filtered("/Users", `id eq "`+secret+`"`), filtered("/Groups", `members.value eq "`+secret+`"`)} {
			total, _ := own.get(t, path).list(t, "id")
			require.Equal(t, "0", total, path)
		}
		own.newUser(t, "ann", object{"externalId": "x"}) // unique in each
		own.do(t, http.MethodPost, "/Groups", group("thief", secret)).wantError(t, http.StatusBadRequest, scim.InvalidValue)
		mine := "/Groups/" + own.newGroup(t, "mine").id()
		own.patch(t, mine, op("add", "members", refs(secret))).wantError(t, http.StatusBadRequest, scim.InvalidValue)
		require.Equal(t, "404 404 400", statuses(own.bulk(t, bulkOf(bulkOp("DELETE", "/Users/"+secret, nil),
			bulkOp("PUT", "/Users/"+secret, user("z")), bulkPost("g", "/Groups", group("thief", secret))))))

		now := other.do(t, http.MethodGet, "/Groups/"+group1, nil, tokenB).want(t, http.StatusOK)
		require.Contains(t, now.text, secret)
		require.Equal(t, `"W/\"1\""`, now.json("meta.version"), "the resource is unchanged")
	})
}

func TestTokens_ExpiryAndReadOnly(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := start
	h := serve(t, newMapStore(), func(o *scimserver.Options) {
		o.Tokens = scimserver.Tokens(func() time.Time { return clock },
			scimserver.Token{Value: "unlimited"},
			scimserver.Token{Value: "a minute", Expires: start.Add(time.Minute)},
			scimserver.Token{Value: "reader", Grant: scimserver.Grant{ReadOnly: true}},
			scimserver.Token{})
	})
	status := func(method, text string) int { return h.do(t, method, "/Users", user("u"), as(text)).status }
	require.Equal(t, http.StatusOK, status(http.MethodGet, "unlimited"))
	require.Equal(t, http.StatusOK, status(http.MethodGet, "a minute"))
	require.Equal(t, http.StatusOK, status(http.MethodGet, "reader"))
	require.Equal(t, http.StatusForbidden, status(http.MethodPost, "reader"))
	clock = start.Add(time.Minute)
	require.Equal(t, http.StatusUnauthorized, status(http.MethodGet, "a minute"), "expired at this time")
	require.Equal(t, http.StatusCreated, status(http.MethodPost, "unlimited"))
	require.Equal(t, http.StatusUnauthorized, status(http.MethodGet, "unknown"))
}
