package scimserver

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// TestScan_ReducedText checks, for drawn resources and filters, that the filter has the same result on the members that a scan decodes as
// on the whole resource, and that a resource which the scan does not decode does not match.
func TestScan_ReducedText(t *testing.T) {
	typ := &resourceType{ResourceType: schema.UserType()}
	texts := []string{"", "a", "A", "ab", "AB", "Ba", "bab", "é", "E\u0301", "\u212A", "k", "K", "ａ", "a\"b", `a\b`, "a ", "longer text"}
	paths := []string{"userName", "title", "displayName", "externalId", "nickName", "emails", "name.givenName", "active",
		scim.EnterpriseUserSchema + ":department"}
	rejected, decoded := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(texts)
		body := map[string]any{"schemas": []string{scim.UserSchema}}
		for _, name := range []string{"userName", "title", "displayName", "externalId", "nickName"} {
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
			case 1:
				body[name] = rapid.SampledFrom([]any{nil, 1, true, []string{"a"}, map[string]any{"a": "a"}}).Draw(t, "value of another type")
			default:
				body[name] = text.Draw(t, name)
			}
		}
		body["emails"] = []any{map[string]any{"value": text.Draw(t, "email")}}
		body["name"] = map[string]any{"givenName": text.Draw(t, "givenName")}
		body[scim.EnterpriseUserSchema] = map[string]any{"department": text.Draw(t, "department")}
		var expr func(depth int) filter.Expr
		expr = func(depth int) filter.Expr {
			kind := rapid.IntRange(0, 6).Draw(t, "expression")
			if depth == 0 {
				kind = max(kind, 4)
			}
			switch kind {
			case 0, 1:
				return filter.And{X: expr(depth - 1), Y: expr(depth - 1)}
			case 2:
				return filter.Or{X: expr(depth - 1), Y: expr(depth - 1)}
			case 3:
				return filter.Not{X: expr(depth - 1)}
			}
			path, err := scim.ParseAttrPath(rapid.SampledFrom(paths).Draw(t, "path"))
			require.NoError(t, err)
			op := rapid.SampledFrom([]filter.Op{filter.Eq, filter.Eq, filter.Ne, filter.Co, filter.Sw, filter.Ew, filter.Gt}).Draw(t, "operator")
			return filter.Compare{Path: path, Op: op, Value: text.Draw(t, "operand")}
		}
		f := expr(2)
		stored, err := json.Marshal(body)
		require.NoError(t, err)
		whole, err := scim.Decode(stored)
		require.NoError(t, err)
		want := filter.Eval(f, &scim.Resource{Object: *whole}, typ.ResourceType)

		sc := &scan{search: &search{filter: f}, server: &server{raw: noReader{}}, t: typ}
		_, members := sc.raw()
		part, ok := appendMembers(nil, stored, members)
		if !ok {
			rejected++
			require.False(t, want, "%s matches %s", f, stored)
			return
		}
		decoded++
		o, err := scim.Decode(part)
		require.NoError(t, err, "%s", part)
		require.Equal(t, want, filter.Eval(f, &scim.Resource{Object: *o}, typ.ResourceType), "%s on %s", f, part)
	})
	require.Positive(t, rejected)
	require.Positive(t, decoded)
}

// noReader is a RawReader that is not called.
type noReader struct{ RawReader }
