package checks

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var schemaDefinitions = []check{
	{
		ID:           "discovery.documentation",
		Title:        "documentationUri and specUri in the ServiceProviderConfig are absolute URLs, or absent",
		Requirements: reqs("RFC7643-5-03", "RFC7643-2.3.7-04"),
		Level:        interop,
		Requests:     1,
		Why:          "Setup wizards show these members as links; typed clients reject a document in which a URL is an empty string.",
		Fix:          "Omit documentationUri and specUri if there is no page for them, or write a URL that starts with https://.",
		Run:          discoveryDocumentation,
	},
	{
		ID:           "discovery.group-schema",
		Title:        "The Group schema describes displayName as a single-valued string and the sub-attributes of members as immutable",
		Requirements: reqs("RFC7643-8.7.1-17", "RFC7643-8.7.1-16", "RFC7643-4.2-04"),
		Level:        should,
		Requests:     1,
		Why:          whySchema,
		Fix:          "In /Schemas, define displayName and members as in RFC 7643 section 8.7.1.",
		Run: func(ctx context.Context, t *T) {
			expectCharacteristics(t, schemaNamed(ctx, t, scim.GroupSchema),
				characteristic{"displayName", "present", ""}, characteristic{"displayName", "type", "string"},
				characteristic{"displayName", "multiValued", "false"},
				characteristic{"members", "present", ""}, characteristic{"members", "type", "complex"},
				characteristic{"members", "multiValued", "true"}, characteristic{"members", "mutability", "readWrite"},
				characteristic{"members.value", "present", ""}, characteristic{"members.value", "mutability", "immutable"},
				characteristic{"members.$ref", "mutability", "immutable"}, characteristic{"members.type", "mutability", "immutable"})
		},
	},
	{
		ID:           "discovery.enterprise-schema",
		Title:        "The schema of the enterprise extension describes its five string attributes and the manager",
		Requirements: reqs("RFC7643-8.7.1-18", "RFC7643-8.7.1-19", "RFC7643-4.3-01"),
		Level:        should,
		Requests:     1,
		Why:          whySchema,
		Fix:          "In /Schemas, define the attributes of the enterprise extension as in RFC 7643 section 8.7.1.",
		Run:          discoveryEnterpriseSchema,
	},
	{
		ID:           "discovery.common-attributes",
		Title:        "A schema that lists id, externalId or meta describes them as in RFC 7643",
		Requirements: reqs("RFC7643-3.1-04", "RFC7643-3.1-12", "RFC7643-3.1-17", "RFC7643-3.1-18"),
		Level:        should,
		Requests:     1,
		Why:          "Clients that read a wrong definition try to write id, or compare ids case-insensitively.",
		Fix:          "Omit the common attributes from the schemas, or describe them as in RFC 7643 section 3.1.",
		Run:          discoveryCommonAttributes,
	},
	{
		ID:           "discovery.endpoints",
		Title:        "Every endpoint that /ResourceTypes lists exists and serves resources of its type",
		Requirements: reqs("RFC7644-4-09", "RFC7643-6-05"),
		Level:        must,
		Requests:     4,
		Why:          "Clients read every endpoint of the list; a 404 aborts their import, and they cannot parse resources of another type.",
		Fix:          "List the endpoints that are served, and serve the endpoints that are listed, each with resources of its own type.",
		Run:          discoveryEndpoints,
	},
	{
		ID:           "discovery.filter-refused",
		Title:        "A filter on a discovery endpoint is rejected with 403",
		Requirements: reqs("RFC7644-4-08"),
		Level:        should,
		Requests:     2,
		Why: "A server that ignores the filter returns all schemas; a client that uses them as the result of its filter uses " +
			"wrong ones. If the server applies the filter, the response is correct, and the deviation is only information.",
		Fix: "Return 403 for a filter on /Schemas and /ResourceTypes.",
		Run: func(ctx context.Context, t *T) {
			for _, where := range []string{"/Schemas", "/ResourceTypes"} {
				res := t.Get(ctx, where, "filter", `name eq "User"`)
				what := "status of " + res.Name + " with a filter"
				if appliesNameFilter(ctx, t, where, res) {
					t.About(res)
					t.Inform(what+", which the response applies", "403", res.Status)
					continue
				}
				t.About(res)
				t.Expect(what, http.StatusForbidden, res.Status)
			}
		},
	},
}

// appliesNameFilter reports whether the response to a discovery request with the filter name eq "User" contains exactly the matching items
// of the whole list, and the list has other items.
func appliesNameFilter(ctx context.Context, t *T, where string, filtered *conformance.Response) bool {
	if filtered.Status != http.StatusOK {
		return false
	}
	whole := t.Get(ctx, where)
	var matching []string
	for _, o := range whole.Resources() {
		if strings.EqualFold(o.Text("name"), "User") {
			matching = append(matching, o.Text("id"))
		}
	}
	return len(matching) > 0 && len(matching) < len(whole.Resources()) && slices.Equal(sorted(matching...), sorted(filtered.IDs()...))
}

func discoveryDocumentation(ctx context.Context, t *T) {
	res := t.Get(ctx, "/ServiceProviderConfig")
	t.SkipIf(res.Status != 200 || res.Object() == nil, "blocked: the ServiceProviderConfig cannot be read")
	link := func(where string, v any) {
		if v == nil {
			return
		}
		text, _ := v.(string)
		address, err := url.Parse(text)
		t.Holds(err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != "", where,
			"an absolute URL with http or https, or absent", v)
	}
	link("documentationUri", value(res.Object(), "documentationUri"))
	for i, item := range res.Object().Array("authenticationSchemes") {
		scheme, _ := item.(*scim.Object)
		for _, name := range []string{"specUri", "documentationUri"} {
			link(fmt.Sprintf("authenticationSchemes[%d].%s", i, name), value(scheme, name))
		}
	}
}

func discoveryEnterpriseSchema(ctx context.Context, t *T) {
	s := schemaNamed(ctx, t, scim.EnterpriseUserSchema)
	for _, name := range []string{"employeeNumber", "costCenter", "organization", "division", "department"} {
		expectCharacteristics(t, s, characteristic{name, "present", ""}, characteristic{name, "type", "string"},
			characteristic{name, "multiValued", "false"},
			characteristic{name, "mutability", "readWrite"})
	}
	expectCharacteristics(t, s, characteristic{"manager", "present", ""}, characteristic{"manager", "type", "complex"},
		characteristic{"manager", "multiValued", "false"},
		characteristic{"manager.value", "type", "string"}, characteristic{"manager.$ref", "type", "reference"},
		characteristic{"manager.displayName", "mutability", "readOnly"})
}

func discoveryCommonAttributes(ctx context.Context, t *T) {
	items := t.Get(ctx, "/Schemas").Resources()
	t.SkipIf(len(items) == 0, "blocked: /Schemas lists nothing")
	for _, s := range items {
		if strings.HasPrefix(strings.ToLower(s.Text("id")), "urn:ietf:params:scim:schemas:core:2.0:s") ||
			scim.EqualName(s.Text("id"), scim.ResourceTypeSchema) {
			continue // the id of these resource types is defined in their own schemas, with other characteristics
		}
		expectCharacteristics(t, s, characteristic{"id", "type", "string"}, characteristic{"id", "multiValued", "false"},
			characteristic{"id", "caseExact", "true"}, characteristic{"id", "mutability", "readOnly"}, characteristic{"id", "returned", "always"},
			characteristic{"externalId", "type", "string"}, characteristic{"externalId", "multiValued", "false"},
			characteristic{"externalId", "caseExact", "true"}, characteristic{"externalId", "mutability", "readWrite"},
			characteristic{"meta", "type", "complex"}, characteristic{"meta", "multiValued", "false"},
			characteristic{"meta", "mutability", "readOnly"})
	}
}

func discoveryEndpoints(ctx context.Context, t *T) {
	items := t.Get(ctx, "/ResourceTypes").Resources()
	t.SkipIf(len(items) == 0, "blocked: /ResourceTypes lists nothing")
	for _, rt := range items {
		where, err := url.Parse(rt.Text("endpoint"))
		if err != nil || !strings.HasPrefix(where.Path, "/") || where.Host != "" {
			continue // not a finding here: discovery.resource-types reports an endpoint that is not a path
		}
		res := t.Get(ctx, where.Path, "count", "1")
		t.Holds(res.Status != http.StatusNotFound && res.Status < 500, "status of "+res.Name+", which /ResourceTypes lists",
			"200, or a 4xx status other than 404", res.Status)
		for _, o := range res.Resources() {
			urns := texts(o, "schemas")
			if len(urns) == 0 || rt.Text("schema") == "" {
				continue // traffic.schemas and discovery.resource-types report the absent value
			}
			own := slices.ContainsFunc(urns, func(urn string) bool { return scim.EqualName(urn, rt.Text("schema")) })
			t.Holds(own, "schemas of an item of "+res.Name+", the endpoint of "+rt.Text("name"), rt.Text("schema"), urns)
		}
	}
}

// characteristic is one statement of RFC 7643 about an attribute: its path in the schema, the member of the definition, and the permitted
// values.
type characteristic struct{ path, member, want string }

// expectCharacteristics compares a schema with statements of RFC 7643. A missing attribute is a finding only for a row with the member
// "present".
func expectCharacteristics(t *T, schema *scim.Object, rows ...characteristic) {
	for _, row := range rows {
		at := schema
		members := "attributes"
		for name := range strings.SplitSeq(row.path, ".") {
			at, members = element(at, members, "name", name), "subAttributes"
		}
		if row.member == "present" {
			t.Holds(at != nil, "attributes of "+schema.Text("id"), row.path+" among them", "missing")
			continue
		}
		v, given := at.Get(row.member)
		if at == nil || !given && row.want == "false" {
			continue
		}
		t.Holds(slices.Contains(strings.Split(row.want, " or "), strings.Trim(jsonText(v), `"`)), row.member+" of "+row.path, row.want, v)
	}
}

// schemaNamed reads /Schemas and returns the schema with the URN. If the target does not list the schema, it skips the check.
func schemaNamed(ctx context.Context, t *T, urn string) *scim.Object {
	for _, s := range t.Get(ctx, "/Schemas").Resources() {
		if scim.EqualName(s.Text("id"), urn) {
			return s
		}
	}
	t.Skip("the target does not list " + urn)
	return nil
}
