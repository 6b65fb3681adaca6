package checks

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

const (
	whyType = "Clients use every resource type that the server lists; their requests fail for a type that is only partly implemented."
	fixType = "Implement the same operations for every listed resource type as for users and groups, or remove it from the list."
)

var customTypes = []check{
	{
		ID:           "types.create",
		Title:        "Objects of every custom resource type are created with 201, id, Location, and the name of the type in meta.resourceType",
		Requirements: reqs("RFC7644-3.3-05", "RFC7643-6-03", "RFC7644-3.3-07", "RFC7643-3.1-20"),
		Level:        must,
		Needs:        writesAny,
		Requests:     2,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesCreate,
	},
	{
		ID:           "types.read",
		Title:        "Objects of every custom resource type are read by id, and a GET of an unknown id returns 404",
		Requirements: reqs("RFC7644-3.4.1-01", "RFC7644-3.4.1-02"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesRead,
	},
	{
		ID:           "types.replace",
		Title:        "Objects of every custom resource type are replaced by PUT",
		Requirements: reqs("RFC7644-3.5-01", "RFC7644-3.5.1-03"),
		Level:        must,
		Needs:        writesAny,
		Requests:     4,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesReplace,
	},
	{
		ID:           "types.patch",
		Title:        "Objects of every custom resource type are changed by PATCH",
		Requirements: reqs("RFC7644-3.5-03", "RFC7644-3.5.2.3-04", "RFC7644-3.5.2.2-02"),
		Level:        must,
		Needs:        patchesAny,
		Requests:     6,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesPatch,
	},
	{
		ID:           "types.delete",
		Title:        "Objects of every custom resource type are deleted",
		Requirements: reqs("RFC7644-3.6-04", "RFC7644-3.6-01"),
		Level:        must,
		Needs:        writesAny,
		Requests:     3,
		Why:          whyType,
		Fix:          fixType,
		Run: func(ctx context.Context, t *T) {
			eachCustom(t, func(td typeDef) {
				c, _ := createInstance(ctx, t, td, "delete")
				t.Expect("status of DELETE", 204, t.Delete(ctx, c.Path()).Status)
				t.Expect("status of GET after DELETE", 404, t.Get(ctx, c.Path()).Status)
			})
		},
	},
	{
		ID:           "types.find",
		Title:        "A filter on the endpoint of every custom resource type finds exactly the objects that match it",
		Requirements: reqs("RFC7644-3.4.2.2-09", "RFC7643-6-05"),
		Level:        must,
		Needs:        append(slices.Clone(writesAny), conformance.NeedFilter),
		Requests:     4,
		Why:          whyType,
		Fix:          fixType,
		Run:          typesFind,
	},
	{
		ID:           "types.malformed",
		Title:        "Malformed bodies for every custom resource type are rejected with 400",
		Requirements: reqs("RFC7644-3.3-10", "RFC7644-3.12-07"),
		Level:        should,
		Needs:        writesAny,
		Requests:     2,
		Why:          "If the server returns a 500, clients retry a request that can never succeed.",
		Fix:          "Parse bodies with the same code for all resource types; return 400 invalidSyntax for an invalid body.",
		Run:          typesMalformed,
	},
}

func typesCreate(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		res := t.Post(ctx, td.endpoint, td.fresh(t, "new"))
		t.Require("status of "+res.Name, 201, res.Status)
		id := res.Object().Text("id")
		t.Holds(id != "", "id of the new "+td.name, "a string", id)
		t.Holds(strings.HasSuffix(res.Header.Get("Location"), td.endpoint+"/"+id), "Location header",
			"a URI that ends in "+td.endpoint+"/"+id, res.Header.Get("Location"))
		t.Expect("meta.resourceType", td.name, value(res.Object(), "meta.resourceType"))
		t.Holds(slices.Contains(texts(res.Object(), "schemas"), td.schema), "schemas", td.schema+" among them", value(res.Object(), "schemas"))
	})
}

func typesRead(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		c, body := createInstance(ctx, t, td, "read")
		res := t.Get(ctx, c.Path())
		t.Require("status of "+res.Name, 200, res.Status)
		t.Expect("id", c.ID, value(res.Object(), "id"))
		t.Expect(td.carrier, body[td.carrier], value(res.Object(), td.carrier))
		unknown := t.Get(ctx, td.endpoint+"/"+t.AbsentID())
		t.Warn(unknown.Status == 404, "status of "+unknown.Name, "404", unknown.Status)
	})
}

func typesReplace(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		a := td.changeable()
		t.SkipIf(a == nil, td.name+" has no attribute that can be changed")
		c, body := createInstance(ctx, t, td, "put")
		a.set(body, "changed")
		res := t.Put(ctx, c.Path(), body)
		t.Require("status of "+res.Name, 200, res.Status)
		t.Expect(a.name+" after PUT", "changed", a.of(t.Read(ctx, c.Path()).Object()))
	})
}

func typesPatch(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		a := td.changeable()
		t.SkipIf(a == nil, td.name+" has no attribute that can be changed")
		c, _ := createInstance(ctx, t, td, "patch")
		o := patched(ctx, t, c, doc{"op": "replace", "path": a.name, "value": "changed"})
		t.Expect(a.name+" after replace", "changed", a.of(o))
		o = patched(ctx, t, c, doc{"op": "remove", "path": a.name})
		t.Holds(a.of(o) == nil, a.name+" after remove", "absent", a.of(o))
	})
}

func typesFind(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		c, body := createInstance(ctx, t, td, "found")
		name, _ := body[td.carrier].(string)
		res := t.Get(ctx, td.endpoint, "filter", td.carrier+" eq "+quote(name))
		t.Require("status of "+res.Name+" with a filter", 200, res.Status)
		t.Expect("ids found", []string{c.ID}, res.IDs())
		none := t.Get(ctx, td.endpoint, "filter", td.carrier+" eq "+quote(name+"-none"))
		t.Expect("number of objects found for an unused name", 0, len(none.IDs()))
	})
}

func typesMalformed(ctx context.Context, t *T) {
	eachCustom(t, func(td typeDef) {
		t.Names(td.endpoint, td.carrier)
		for _, body := range []string{`{"externalId":"` + t.Prefix() + `malformed","schemas":[`, `[]`} {
			expectError(t, t.Call(ctx, conformance.Request{Method: http.MethodPost, Path: td.endpoint, Body: []byte(body)}), 400, "invalidSyntax",
				"invalidValue")
		}
	})
}

// eachCustom calls use for every resource type other than users and groups, and skips the check if the target has none.
func eachCustom(t *T, use func(td typeDef)) {
	found := false
	for _, td := range types(t) {
		if td.custom() {
			found = true
			use(td)
		}
	}
	t.SkipIf(!found, "the target describes no resource type other than User and Group")
}

// createInstance creates an object of a type, or skips the check.
func createInstance(ctx context.Context, t *T, td typeDef, label string) (*conformance.Created, doc) {
	body := td.fresh(t, label)
	return t.Create(ctx, td.endpoint, body), body
}

// changeable returns a string attribute of the base schema that can be set and changed, nil if the type has none.
func (td typeDef) changeable() *attrDef {
	for _, a := range td.attributes {
		if a.urn == "" && a.kind == "string" && !a.multi && a.mutability == "readWrite" && !a.hidden() && !a.common() && len(a.canonical) == 0 &&
			a.uniqueness == "none" && a.name != td.carrier {
			return &a
		}
	}
	return nil
}
