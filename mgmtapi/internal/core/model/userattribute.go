package model

import (
	"slices"
	"sync"
)

// Bounds of the base attributes, in characters.
const (
	minAddress = 5
	maxAddress = 100
	maxName    = 50
	maxPhone   = 100
)

// What users may do to their own base attributes.
const (
	selfWrites = "READ_WRITE"
	selfReads  = "READ_ONLY"
)

// baseAttribute is a row of the profile schema that all user types begin with. All of its attributes are texts.
type baseAttribute struct {
	name, title string
	required    bool
	min, max    int // in characters; max 0 for no bound
	format      Format
	self        string // defaults to selfReads
	initial     string // of a user who is given no value; empty for none
}

var baseAttributes = []baseAttribute{
	{name: "login", title: "User name", required: true, min: minAddress, max: maxAddress},
	{name: "firstName", title: "First name", required: true, min: 1, max: maxName, self: selfWrites},
	{name: "lastName", title: "Last name", required: true, min: 1, max: maxName, self: selfWrites},
	{name: "email", title: "Primary e-mail address", required: true, min: minAddress, max: maxAddress, format: FormatEmail, self: selfWrites},
	{name: "secondEmail", title: "Secondary e-mail address", min: minAddress, max: maxAddress, format: FormatEmail, self: selfWrites},
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
	{name: "locale", title: "Locale, as en_US", format: FormatLocale, initial: "en_US"},
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

// baseOrder are the names of the base attributes, baseProperties what they are. Nobody changes them.
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

// DefaultAttributes returns the values of the base attributes that a profile has when it is given none, by their names.
var DefaultAttributes = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, a := range baseAttributes {
		if a.initial != "" {
			out[a.name] = a.initial
		}
	}
	return out
})

// CompleteProfile gives a profile the DefaultAttributes that it lacks.
func CompleteProfile(profile map[string]any) {
	for name, value := range DefaultAttributes() {
		if NoValue(profile[name]) {
			profile[name] = value
		}
	}
}

// FillIn puts the defaults in place of what was not given.
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

// UserAttribute says whether users of every type can have the attribute.
func UserAttribute(name string) bool {
	_, ok := baseProperties[name]
	return ok
}
