package checks

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// discoveryClaims are the checks that compare statements of the discovery documents with the behavior of the target.
var discoveryClaims = []check{
	{
		ID:           "discovery.extensions-listed",
		Title:        "The User resource type lists every extension that users have",
		Requirements: reqs("RFC7644-4-09", "RFC7643-6-08"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     2,
		Why:          "Clients write and import only the extensions that the resource type lists; the data of other extensions is lost.",
		Fix:          "Add each extension to schemaExtensions of the resource type, or do not return its data.",
		Run:          discoveryExtensionsListed,
	},
	{
		ID:           "discovery.meta",
		Title:        "meta of a discovery document has the URI of the document and its resource type",
		Requirements: reqs("RFC7643-3.1-24", "RFC7643-7-33"),
		Level:        must,
		Requests:     3,
		Why:          "Clients store meta.location to read the document again; from a wrong URI, they get a 404 or another document.",
		Fix: "Set meta.location to the URI of the document, such as /Schemas/{URN} or /ResourceTypes/User below the base URL, and " +
			"meta.resourceType to ServiceProviderConfig, ResourceType or Schema.",
		Run: discoveryMeta,
	},
}

func discoveryExtensionsListed(ctx context.Context, t *T) {
	rt := t.Capabilities.ResourceType(scim.UserSchema)
	t.SkipIf(rt == nil, "the target lists no User resource type")
	res := t.Post(ctx, "/Users", t.User("extended",
		doc{"schemas": []string{scim.UserSchema, scim.EnterpriseUserSchema}, scim.EnterpriseUserSchema: doc{"department": "Conformance"}}))
	t.SkipIf(!res.OK(), "the target rejects a user with the enterprise extension")
	listed := values(rt, "schemaExtensions", "schema")
	for name, v := range res.Object().All() {
		if extension, ok := v.(*scim.Object); ok && extension.Len() > 0 && strings.HasPrefix(strings.ToLower(name), "urn:") {
			t.Holds(slices.ContainsFunc(listed, func(urn string) bool { return scim.EqualName(urn, name) }),
				"schemaExtensions of the User resource type, while a user has data of "+name, name+" among them", listed)
		}
	}
}

func discoveryMeta(ctx context.Context, t *T) {
	config := t.Get(ctx, "/ServiceProviderConfig")
	types, schemas := t.Get(ctx, "/ResourceTypes"), t.Get(ctx, "/Schemas")
	found := false
	expect := func(listed *conformance.Response, o *scim.Object, kind string, paths ...string) {
		t.About(listed)
		found = found || has(o, "meta")
		what := kind + " " + strings.TrimPrefix(paths[0], "/")
		if v := value(o, "meta.resourceType"); v != nil {
			t.Warn(v == kind, "meta.resourceType of "+what, kind, v)
		}
		if location := o.Complex("meta").Text("location"); location != "" && !locates(ctx, t, location, o, paths) {
			t.About(listed)
			t.Holds(false, "meta.location of "+what, "a URI that ends in "+paths[0], location)
		}
	}
	expect(config, config.Object(), "ServiceProviderConfig", "/ServiceProviderConfig")
	for _, rt := range types.Resources() {
		expect(types, rt, "ResourceType", "/ResourceTypes/"+rt.Text("name"), "/ResourceTypes/"+rt.Text("id"))
	}
	for _, s := range schemas.Resources() {
		expect(schemas, s, "Schema", "/Schemas/"+s.Text("id"))
	}
	t.SkipIf(!found, "no discovery document has meta")
}

// locates reports whether a location is the URI of a discovery document: it ends in one of the usual paths of the document, or it is below
// the base URL, and a GET of it returns the document.
func locates(ctx context.Context, t *T, location string, document *scim.Object, paths []string) bool {
	for _, path := range paths {
		if suffix := strings.ToLower(path); strings.HasSuffix(strings.ToLower(unescaped(location)), suffix) {
			return true
		}
	}
	path, ok := strings.CutPrefix(location, t.Base())
	if u, err := url.Parse(path); !ok || err != nil || u.RawQuery != "" || !strings.HasPrefix(path, "/") {
		return false
	}
	res := t.Get(ctx, path)
	same := func(name string) bool { return scim.Equal(value(res.Object(), name), value(document, name)) }
	return res.OK() && same("schemas") && same("id") && same("name")
}
