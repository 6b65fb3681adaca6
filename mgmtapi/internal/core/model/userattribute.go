package model

import (
	"slices"
	"sync"
)

// Length limits of the base attributes, in characters.
const (
	minAddress = 5
	maxAddress = 100
	maxName    = 50
	maxPhone   = 100
)

// The permissions of users for their own base attributes.
const (
	selfWrites = "READ_WRITE"
	selfReads  = "READ_ONLY"
)

// baseAttribute is a base attribute of the profile schema of all user types. All base attributes are strings.
type baseAttribute struct {
	name, title string
	required    bool
	min, max    int // in characters; max 0 means no limit
	format      Format
	self        string // default: selfReads
	initial     string // default value, empty for no default
}

var baseAttributes = []baseAttribute{
	{name: "login", title: "User name", required: true, min: minAddress, max: maxAddress},
	{name: "firstName", title: "First name", required: true, min: 1, max: maxName, self: selfWrites},
	{name: "lastName", title: "Last name", required: true, min: 1, max: maxName, self: selfWrites},
	{name: "email", title: "Primary email address", required: true, min: minAddress, max: maxAddress, format: FormatEmail, self: selfWrites},
	{name: "secondEmail", title: "Secondary email address", min: minAddress, max: maxAddress, format: FormatEmail, self: selfWrites},
	{name: "mobilePhone", title: "Mobile phone", max: maxPhone, self: selfWrites},
	{name: "middleName", title: "Middle name"},
	{name: "honorificPrefix", title: "Honorific prefix"},
	{name: "honorificSuffix", title: "Honorific suffix"},
	{name: "title", title: "Title"},
	{name: "displayName", title: "Display name"},
	{name: "nickName", title: "Nickname"},
	{name: "profileUrl", title: "URL of the profile", format: FormatURI},
	{name: "primaryPhone", title: "Primary phone", max: maxPhone},
	{name: "streetAddress", title: "Street address"},
	{name: "city", title: "City"},
	{name: "state", title: "State"},
	{name: "zipCode", title: "Zip code"},
	{name: "countryCode", title: "ISO 3166-1 alpha-2 country code", format: FormatCountry},
	{name: "postalAddress", title: "Postal address"},
	{name: "preferredLanguage", title: "Preferred languages, as in Accept-Language", format: FormatLanguages},
	{name: "locale", title: "Locale, such as en_US", format: FormatLocale, initial: "en_US"},
	{name: "timezone", title: "IANA time zone", format: FormatTimezone},
	{name: "userType", title: "User type"},
	{name: "employeeNumber", title: "Employee number"},
	{name: "costCenter", title: "Cost center"},
	{name: "organization", title: "Organization"},
	{name: "division", title: "Division"},
	{name: "department", title: "Department"},
	{name: "managerId", title: "Id of the manager"},
	{name: "manager", title: "Display name of the manager"},
}

// baseOrder lists the names of the base attributes, baseProperties holds their properties. Both are read-only.
var baseOrder, baseProperties = func() ([]string, map[string]Property) {
	names, properties := make([]string, len(baseAttributes)), map[string]Property{}
	for i, a := range baseAttributes {
		p := Property{Title: a.title, Type: PropertyString, Format: a.format}
		if a.required {
			p.Required = new(true)
		}
		if a.max > 0 {
			p.MinLength, p.MaxLength = new(a.min), new(a.max)
		}
		p.Permissions = selfMay(selfReads)
		if a.self != "" {
			p.Permissions = selfMay(a.self)
		}
		p.FillIn()
		names[i], properties[a.name] = a.name, p
	}
	return names, properties
}()

// DefaultAttributes returns the default values of base attributes, by name.
var DefaultAttributes = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, a := range baseAttributes {
		if a.initial != "" {
			out[a.name] = a.initial
		}
	}
	return out
})

// CompleteProfile adds the missing DefaultAttributes to a profile.
func CompleteProfile(profile map[string]any) {
	for name, value := range DefaultAttributes() {
		if NoValue(profile[name]) {
			profile[name] = value
		}
	}
}

// FillIn sets members without a value to their defaults.
func (p *Property) FillIn() {
	if p.Mutability == "" {
		p.Mutability = ReadWrite
	}
	if p.Scope == "" {
		p.Scope = "NONE"
	}
	if len(p.Permissions) == 0 {
		p.Permissions = selfMay(selfReads)
	}
	if p.Master == nil {
		p.Master = &Master{Type: MasterImport}
	}
}

func selfMay(action string) []Permission { return []Permission{{Principal: "SELF", Action: action}} }

// UserAttributes lists the base attributes of users.
func UserAttributes() []string { return slices.Clone(baseOrder) }

// UserAttribute reports whether the name is a base attribute of users.
func UserAttribute(name string) bool {
	_, ok := baseProperties[name]
	return ok
}
