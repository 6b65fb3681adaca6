package schema

import "github.com/scimwright/scimwright/scim"

// EnterpriseUser returns the enterprise extension of the User (RFC 7643 sections 4.3 and 8.7.1, erratum 8472). The caller owns the result.
func EnterpriseUser() *Schema {
	return &Schema{
		ID: scim.EnterpriseUserSchema, Name: "EnterpriseUser", Description: "Enterprise User",
		Attributes: complete([]*Attribute{
			text("employeeNumber",
				"Numeric or alphanumeric identifier assigned to a person, typically based on order of hire or association with an organization."),
			text("costCenter", "Identifies the name of a cost center."),
			text("organization", "Identifies the name of an organization."),
			text("division", "Identifies the name of a division."),
			text("department", "Identifies the name of a department."),
			{Name: "manager", Type: Complex, Description: "The User's manager.", SubAttributes: []*Attribute{
				{Name: "value", CaseExact: true, Description: "The id of the SCIM resource representing the User's manager."},
				{Name: "$ref", Type: Reference, ReferenceTypes: []string{"User"},
					Description: "The URI of the SCIM resource representing the User's manager."},
				{Name: "displayName", Mutability: ReadOnly, Description: "The displayName of the User's manager."},
			}},
		}),
	}
}
