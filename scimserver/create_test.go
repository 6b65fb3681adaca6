package scimserver_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

func TestCreateUser(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		t.Run("returns the complete resource and its location", func(t *testing.T) {
			a := h.do(t, http.MethodPost, "/Users", `{
				"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
				"userName": "Full", "externalId": "x1", "NAME": {"GivenName": "Ann", "familyName": "Lee"}, "nickName": null, "photos": [],
				"emails": [{"value": "ann@example.com", "type": "work", "primary": true}], "active": true,
				"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"employeeNumber": "7", "manager": {"value": "m"}}}`).want(t,
				http.StatusCreated)
			require.Regexp(t, "^[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", a.id(), "a UUID of version 7 or 8")
			location := h.url + "/Users/" + a.id()
			require.Equal(t, location, a.header.Get("Location"))
			require.Equal(t, a.body.Complex("meta").Text("version"), a.header.Get("ETag"))
			sameJSON(t, `{
				"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"],
				"userName": "Full", "externalId": "x1", "name": {"givenName": "Ann", "familyName": "Lee"},
				"emails": [{"value": "ann@example.com", "type": "work", "primary": true}], "active": true,
				"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"employeeNumber": "7", "manager": {"value": "m"}}}`,
				without(a.body, "id", "meta"))

			meta := (&scim.Resource{Object: *a.body}).Meta()
			require.Equal(t, "User", meta.ResourceType)
			require.Equal(t, location, meta.Location)
			require.Equal(t, meta.Created, meta.LastModified, "created equals lastModified")
			require.WithinDuration(t, time.Now(), meta.Created, time.Minute)
			require.Equal(t, a.text, h.get(t, "/Users/"+a.id()).text, "a GET returns the same resource")
		})
		t.Run("ignores read-only attributes", func(t *testing.T) {
			a := h.newUser(t, "readonly",
				object{"id": "mine", "groups": []any{}, "meta": object{"resourceType": "X", "created": "2001-01-01T00:00:00Z"}})
			require.NotEqual(t, "mine", a.id())
			require.Equal(t, `"User"`, a.json("meta.resourceType"))
			require.NotContains(t, a.json("meta.created"), "2001")
			require.Equal(t, "null", a.json("groups"))
			require.Equal(t, "null", a.json("externalId"), "the server generates no externalId")
		})
		t.Run("accepts the requests of Entra and Okta", func(t *testing.T) {
			a := h.newUser(t, "lenient", object{"active": "True", "roles": []any{}, "displayName": nil,
				"schemas": []string{scim.UserSchema, scim.EnterpriseUserSchema, "urn:example:unknown"}, "unknown": 1,
				"name": object{"formatted": "L", "unknown": true}})
			require.Equal(t, `{"formatted":"L"}`, a.json("name"))
			require.Equal(t, "true", a.json("active"))
			require.Equal(t, `["`+scim.UserSchema+`"]`, a.json("schemas"))
			require.NotContains(t, a.text, "unknown")
			a = h.newUser(t, "managed", object{scim.EnterpriseUserSchema: object{"manager": "26"}})
			require.Equal(t, `{"manager":{"value":"26"}}`, string(scim.AppendValue(nil, a.body.Complex(scim.EnterpriseUserSchema))),
				"a bare manager")
		})
	})
}

func TestCreate_RejectsBadInput(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		h.newUser(t, "Taken")
		for _, test := range []struct {
			name     string
			endpoint string
			body     any
			status   int
			scimType scim.Type
			detail   string
		}{
			{"a userName in use", "/Users", user("Taken"), 409, scim.Uniqueness, "userName"},
			{"a userName in use, in another case", "/Users", user("tAKEN"), 409, scim.Uniqueness, "userName"},
			{"a user without a name", "/Users", `{"schemas":["` + scim.UserSchema + `"]}`, 400, scim.InvalidValue, "userName"},
			{"an empty userName", "/Users", user(""), 400, scim.InvalidValue, "userName"},
			{"a group without a name", "/Groups", `{"schemas":["` + scim.GroupSchema + `"]}`, 400, scim.InvalidValue, "displayName"},
			{"no schemas", "/Users", `{"userName":"x"}`, 400, scim.InvalidValue, "schemas"},
			{"the wrong schema", "/Users", `{"schemas":["` + scim.GroupSchema + `"],"userName":"x"}`, 400, scim.InvalidValue, "schemas"},
			{"an object instead of a string", "/Users", user("x", object{"displayName": object{}}), 400, scim.InvalidValue, "displayName"},
			{"a string instead of an object", "/Users", user("x", object{"name": "Ann"}), 400, scim.InvalidValue, "name"},
			{"a number for a boolean", "/Users", user("x", object{"active": 1}), 400, scim.InvalidValue, "active"},
			{"two primary values", "/Users", user("x", object{"emails": []object{{"value": "a", "primary": true}, {"value": "b", "primary": true}}}),
				400, scim.InvalidValue, "emails"},
			{"an empty password", "/Users", user("x", object{"password": ""}), 400, scim.InvalidValue, "password"},
			{"an unknown member", "/Groups", group("g", "nobody"), 400, scim.InvalidValue, "nobody"},
			{"a member with an impossible id", "/Groups", group("g", strings.Repeat("x", 2000)), 400, scim.InvalidValue, "members"},
			{"broken JSON", "/Users", `{"schemas":`, 400, scim.InvalidSyntax, "byte"},
			{"an empty body", "/Users", ``, 400, scim.InvalidSyntax, ""},
			{"an array", "/Users", `[]`, 400, scim.InvalidSyntax, ""},
			{"a byte order mark", "/Users", "\uFEFF{}", 400, scim.InvalidSyntax, "byte order mark"},
			{"a name twice", "/Users", `{"userName":"a","USERNAME":"b"}`, 400, scim.InvalidSyntax, ""},
			{"not a number", "/Users", `{"userName":NaN}`, 400, scim.InvalidSyntax, ""},
			{"deep nesting", "/Users", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), 400, scim.InvalidSyntax, ""},
			{"invalid UTF-8", "/Users", "{\"userName\":\"\xff\"}", 400, scim.InvalidSyntax, ""},
		} {
			t.Run(test.name, func(t *testing.T) {
				a := h.do(t, http.MethodPost, test.endpoint, test.body).wantError(t, test.status, test.scimType)
				require.Contains(t, a.body.Text("detail"), test.detail)
			})
		}
		total, _ := h.get(t, "/Users").list(t, "id")
		require.Equal(t, "1", total, "no resource was stored")
		total, _ = h.get(t, "/Groups").list(t, "id")
		require.Equal(t, "0", total, "no resource was stored")
	})
}

func TestStrangeNamesRoundTrip(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		for _, name := range []string{"ü@exämple.com", "日本", "😀", `quote " and \`, "a/b+c%20d", "it's", "100%_", " lead", "<&>", "a\u2028b"} {
			a := h.newUser(t, name)
			require.Equal(t, name, a.body.Text("userName"))
			_, found := h.get(t, filtered("/Users", `userName eq `+string(scim.AppendValue(nil, name)))).list(t, "id")
			require.Equal(t, []string{a.id()}, found, "%q", name)
		}
	})
}

func TestCreate_DuplicateExternalIDs(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		h.newUser(t, "a", object{"externalId": "E"})
		h.newUser(t, "b", object{"externalId": "E"})
		h.newUser(t, "c", object{"externalId": "e"})
		_, names := h.get(t, filtered("/Users", `externalId eq "E"`)).list(t, "userName")
		require.Equal(t, []string{"a", "b"}, names)
	})
}

// TestUserNamesCompareByPRECIS checks RFC 7644 sections 5 and 7.8: names are prepared before they are compared.
func TestUserNamesCompareByPRECIS(t *testing.T) {
	eachStore(t, func(t *testing.T, h *harness) {
		for _, same := range [][]string{
			{"Andr\u00e9", "andre\u0301", "ANDR\u00c9", "ANDRE\u0301"},
			{"ａｎｎ", "ann", "ＡＮＮ"},
			{"ｱﾝ", "アン"},
			{"ΧΑΟΣ", "χαος", "χαοσ"},
			{"\u0130da", "i\u0307da"},
		} {
			a := h.newUser(t, same[0])
			require.Equal(t, same[0], a.body.Text("userName"), "the name is stored as sent")
			for _, name := range same {
				_, found := h.get(t, filtered("/Users", `userName eq `+string(scim.AppendValue(nil, name)))).list(t, "id")
				require.Equal(t, []string{a.id()}, found, "%q", name)
				h.do(t, http.MethodPost, "/Users", user(name)).wantError(t, http.StatusConflict, scim.Uniqueness)
			}
			other := h.newUser(t, "other")
			h.patch(t, "/Users/"+other.id(), op("replace", "userName", same[1])).wantError(t, http.StatusConflict, scim.Uniqueness)
			h.do(t, http.MethodDelete, "/Users/"+other.id(), nil).want(t, http.StatusNoContent)
		}
		total, _ := h.get(t, "/Users").list(t, "id")
		require.Equal(t, "5", total)
	})
}
