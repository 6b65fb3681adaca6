package mutants

import (
	"github.com/scimwright/scimwright/scim"
)

// schemaSays returns a wrapper that changes the definition of an attribute in the list of schemas. If sub is set, it changes the definition
// of that sub-attribute. A nil value removes the whole definition.
func schemaSays(urn, attribute, sub, member string, v any) wrap {
	return afterEach(listSchemas, func(o *scim.Object) {
		if o.Text("id") != urn {
			return
		}
		at := definition(o, attribute)
		if sub != "" {
			at = find(at, "subAttributes", "name", sub)
		}
		if v != nil {
			at.Set(member, v)
			return
		}
		var rest []any
		for _, item := range o.Array("attributes") {
			if objectOf(item).Text("name") != attribute {
				rest = append(rest, item)
			}
		}
		o.Set("attributes", rest)
	})
}

// defines returns a wrapper that adds an attribute definition to the User schema.
func defines(members ...scim.Member) wrap {
	return afterEach(listSchemas, func(o *scim.Object) {
		if userSchema(o) {
			o.Set("attributes", append(o.Array("attributes"), scim.NewObject(members...)))
		}
	})
}

var schemaDefinitions = []Mutant{
	{"discovery.member-changeable", "the Group schema declares members.value as readWrite",
		schemaSays(scim.GroupSchema, "members", "value", "mutability", "readWrite")},
	{"discovery.members-single", "the Group schema declares members as single-valued",
		schemaSays(scim.GroupSchema, "members", "", "multiValued", false)},
	{"discovery.members-undescribed", "the Group schema does not define members", schemaSays(scim.GroupSchema, "members", "", "", nil)},
	{"discovery.department-list", "the enterprise schema declares department as multi-valued",
		schemaSays(enterpriseURN, "department", "", "multiValued", true)},
	{"discovery.manager-text", "the enterprise schema declares manager as a string",
		schemaSays(enterpriseURN, "manager", "", "type", "string")},
	{"discovery.cost-center-undescribed", "the enterprise schema does not define costCenter",
		schemaSays(enterpriseURN, "costCenter", "", "", nil)},
	{"discovery.id-writable", "the User schema declares id as writable",
		defines(scim.Member{Name: "name", Value: "id"}, scim.Member{Name: "type", Value: "string"},
			scim.Member{Name: "multiValued", Value: false}, scim.Member{Name: "caseExact", Value: true},
			scim.Member{Name: "mutability", Value: "readWrite"}, scim.Member{Name: "returned", Value: "always"})},
	{"discovery.external-id-folded", "the User schema declares externalId as case-insensitive",
		defines(scim.Member{Name: "name", Value: "externalId"}, scim.Member{Name: "type", Value: "string"},
			scim.Member{Name: "multiValued", Value: false}, scim.Member{Name: "caseExact", Value: false},
			scim.Member{Name: "mutability", Value: "readWrite"})},
	{"discovery.endpoint-not-served", "/ResourceTypes lists an endpoint that does not exist", afterEach(listTypes, func(o *scim.Object) {
		if o.Text("endpoint") == "/Devices" {
			o.Set("endpoint", "/Machines")
		}
	})},
	{"discovery.filter-ignored", "a filter on /Schemas is ignored", instead(with(listSchemas, "filter"), unchanged)},
}
