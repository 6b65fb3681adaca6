package schema

import "github.com/scimwright/scimwright/scim"

// UserType returns the resource type User with the optional enterprise extension (RFC 7643 section 8.6). The caller owns the result.
func UserType() *ResourceType {
	return &ResourceType{
		ID: "User", Name: "User", Endpoint: "/Users", Description: "User Account",
		Schema:     User(),
		Extensions: []Extension{{Schema: EnterpriseUser()}},
	}
}

// User returns the User schema of RFC 7643 section 8.7.1 with the verified errata. It differs from the schema in that section as follows:
// addresses have "primary", as in section 2.4 and the examples; ims.type has the canonical value "other" (section 4.1.2); password is
// caseExact, and so is groups.value, which contains an id. The caller owns the result.
func User() *Schema {
	return &Schema{
		ID: scim.UserSchema, Name: "User", Description: "User Account",
		Attributes: complete([]*Attribute{
			{Name: "userName", Required: true, Uniqueness: Server, Syntax: UserName,
				Description: "Unique identifier for the User, typically used by the user to directly authenticate to the service provider."},
			{Name: "name", Type: Complex, Description: "The components of the user's real name.", SubAttributes: []*Attribute{
				text("formatted", "The full name, including all middle names, titles, and suffixes as appropriate, formatted for display."),
				text("familyName", "The family name of the User, or last name in most Western languages."),
				text("givenName", "The given name of the User, or first name in most Western languages."),
				text("middleName", "The middle name(s) of the User."),
				text("honorificPrefix", "The honorific prefix(es) of the User, or title in most Western languages, e.g., 'Ms.'."),
				text("honorificSuffix", "The honorific suffix(es) of the User, or suffix in most Western languages, e.g., 'III'."),
			}},
			text("displayName", "The name of the User, suitable for display to end-users."),
			text("nickName", "The casual way to address the user in real life."),
			{Name: "profileUrl", Type: Reference, ReferenceTypes: []string{"external"}, Syntax: URL,
				Description: "A fully qualified URL pointing to a page representing the User's online profile."},
			text("title", "The user's title, such as 'Vice President'."),
			text("userType", "Used to identify the relationship between the organization and the user, e.g., 'Contractor', 'Employee'."),
			{Name: "preferredLanguage", Syntax: LanguageRanges,
				Description: "The User's preferred written or spoken language, in the form of an HTTP Accept-Language value."},
			{Name: "locale", Syntax: LanguageTag,
				Description: "The User's default location for purposes of localizing items such as currency, date time format, or numerical " +
					"representations."},
			{Name: "timezone", Syntax: TimeZone,
				Description: "The User's time zone in the 'Olson' time zone database format, e.g., 'America/Los_Angeles'."},
			{Name: "active", Type: Boolean, Description: "The User's administrative status."},
			{Name: "password", CaseExact: true, Mutability: WriteOnly, Returned: Never,
				Description: "The User's cleartext password. This attribute is intended to be used as a means to specify an initial password when " +
					"creating a new User or to reset an existing User's password."},
			plural("emails", "Email addresses for the user.",
				text("value", "Email address of the user."),
				typeAttribute("A label indicating the attribute's function, e.g., 'work' or 'home'.", "work", "home", "other"),
				primary("mailing address or primary email address")),
			plural("phoneNumbers", "Phone numbers for the User, in the form of RFC 3966, e.g., 'tel:+1-201-555-0123'.",
				text("value", "Phone number of the User."),
				typeAttribute("A label indicating the attribute's function, e.g., 'work', 'home', 'mobile'.", "work", "home", "mobile", "fax", "pager",
					"other"),
				primary("phone number")),
			plural("ims", "Instant messaging addresses for the User.",
				text("value", "Instant messaging address for the User."),
				typeAttribute("A label indicating the attribute's function, e.g., 'aim', 'gtalk', 'xmpp'.", "aim", "gtalk", "icq", "xmpp", "msn",
					"skype", "qq",
					"yahoo", "other"),
				primary("messenger")),
			plural("photos", "URLs of photos of the User.",
				&Attribute{Name: "value", Type: Reference, ReferenceTypes: []string{"external"}, Description: "URL of a photo of the User."},
				typeAttribute("A label indicating the attribute's function, i.e., 'photo' or 'thumbnail'.", "photo", "thumbnail"),
				primary("photo or thumbnail")),
			{Name: "addresses", Type: Complex, MultiValued: true, Description: "Physical mailing addresses for this User.",
				SubAttributes: []*Attribute{
					text("formatted", "The full mailing address, formatted for display or use with a mailing label. This attribute MAY contain newlines."),
					text("streetAddress",
						"The full street address component, which may include house number, street name, P.O. box, and multi-line extended street address "+
							"information. This attribute MAY contain newlines."),
					text("locality", "The city or locality component."),
					text("region", "The state or region component."),
					text("postalCode", "The zip code or postal code component."),
					{Name: "country", Syntax: Country, Description: "The country name component, as an ISO 3166-1 alpha-2 code."},
					typeAttribute("A label indicating the attribute's function, e.g., 'work' or 'home'.", "work", "home", "other"),
					primary("address"),
				}},
			{Name: "groups", Type: Complex, MultiValued: true,
				Mutability: ReadOnly,
				Description: "A list of groups to which the user belongs, either through direct membership, through nested groups, or dynamically " +
					"calculated.",
				SubAttributes: readOnly([]*Attribute{
					{Name: "value", CaseExact: true, Description: "The identifier of the User's group."},
					{Name: "$ref", Type: Reference, ReferenceTypes: []string{"Group"},
						Description: "The URI of the corresponding 'Group' resource to which the user belongs."},
					text("display", displayText),
					typeAttribute("A label indicating the attribute's function, e.g., 'direct' or 'indirect'.", "direct", "indirect"),
				})},
			plural("entitlements", "A list of entitlements for the User that represent a thing the User has.",
				text("value", "The value of an entitlement."),
				typeAttribute("A label indicating the attribute's function."),
				primary("entitlement")),
			plural("roles", "A list of roles for the User that collectively represent who the User is, e.g., 'Student', 'Faculty'.",
				text("value", "The value of a role."),
				typeAttribute("A label indicating the attribute's function."),
				primary("role")),
			plural("x509Certificates", "A list of certificates issued to the User.",
				&Attribute{Name: "value", Type: Binary, Syntax: Certificate,
					Description: "The value of an X.509 certificate: the base64 encoding of exactly one DER certificate."},
				typeAttribute("A label indicating the attribute's function."),
				primary("certificate")),
		}),
	}
}

// plural returns a multi-valued attribute with the sub-attributes of RFC 7643 section 2.4.
func plural(name, description string, value, kind, primary *Attribute) *Attribute {
	return &Attribute{Name: name, Type: Complex, MultiValued: true, Description: description,
		SubAttributes: []*Attribute{value, text("display", displayText), kind, primary}}
}
