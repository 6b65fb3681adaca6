package schema

import "github.com/scimwright/scimwright/scim"

// GroupType returns the resource type Group (RFC 7643 section 8.6). The caller owns the result.
func GroupType() *ResourceType {
	return &ResourceType{
		ID: "Group", Name: "Group", Endpoint: "/Groups", Description: "Group",
		Schema: Group(),
	}
}

// Group returns the Group schema of RFC 7643 section 8.7.1 with the verified errata and two additions. First, members have "display"
// (erratum 6011), the current name of the member. It is read-only: the server ignores values that clients send. It has returned "request",
// because clients often read groups with many members for other attributes. Second, members.value, which contains an id, is caseExact and
// required (section 4.2). The caller owns the result.
func Group() *Schema {
	return &Schema{
		ID: scim.GroupSchema, Name: "Group", Description: "Group",
		Attributes: complete([]*Attribute{
			{Name: "displayName", Required: true, Description: "A human-readable name for the Group."},
			{Name: "members", Type: Complex, MultiValued: true, Description: "A list of members of the Group.", SubAttributes: []*Attribute{
				{Name: "value", Required: true, CaseExact: true, Mutability: Immutable, Description: "Identifier of the member of this Group."},
				{Name: "$ref", Type: Reference, Mutability: Immutable, ReferenceTypes: []string{"User", "Group"},
					Description: "The URI corresponding to a SCIM resource that is a member of this Group."},
				{Name: "display", Mutability: ReadOnly, Returned: Request, Description: "The name of the member, as it is now."},
				{Name: "type", Mutability: Immutable, CanonicalValues: []string{"User", "Group"},
					Description: "A label indicating the type of resource, e.g., 'User' or 'Group'."},
			}},
		}),
	}
}
