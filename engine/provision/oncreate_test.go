package provision_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
)

// TestOnCreate_SentOnce checks that updates neither change nor clear the attributes that are sent only at create.
func TestOnCreate_SentOnce(t *testing.T) {
	for _, style := range []engine.Style{engine.Catalog, engine.Wizard} {
		t.Run(string(style), func(t *testing.T) {
			w := newWorld(t, sqldbtest.SQLite(t), provision.Options{})
			w.as(func(t *engine.Target) { t.Style = style })
			preset := func(name, locale string) engine.UserState {
				u := user("u-1", name)
				u.OnCreate = &scim.Resource{}
				u.OnCreate.Set("schemas", []string{scim.EnterpriseUserSchema})
				u.OnCreate.Set("locale", locale)
				u.OnCreate.Set("name", map[string]any{"familyName": "not this", "middleName": "B"})
				u.OnCreate.Set(scim.EnterpriseUserSchema, map[string]any{"costCenter": "1"})
				return u
			}
			w.set("u-1", preset("ann", "de-CH"))
			w.wait()
			got := w.fake.Users()[0]
			require.Equal(t, "de-CH", got.Text("locale"))
			require.Equal(t, "Quist", got.Complex("name").Text("familyName"), "Resource overrides OnCreate")
			require.Equal(t, "B", got.Complex("name").Text("middleName"))
			require.Equal(t, "1", got.Complex(scim.EnterpriseUserSchema).Text("costCenter"))
			require.True(t, got.HasSchema(scim.EnterpriseUserSchema))

			w.fake.Requests()
			w.set("u-1", preset("ann", "fr"))
			w.wait()
			w.requests("GET /Users/u1")
			w.set("u-1", preset("anna", "fr"))
			w.wait()
			w.requests("GET /Users/u1", "PUT /Users/u1")
			got = w.fake.Users()[0]
			require.Equal(t, "anna", got.Text("userName"))
			require.Equal(t, "de-CH", got.Text("locale"), "neither changed nor cleared")
			require.Equal(t, "1", got.Complex(scim.EnterpriseUserSchema).Text("costCenter"))
		})
	}
}
