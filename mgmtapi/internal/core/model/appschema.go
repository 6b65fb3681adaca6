package model

import (
	"iter"
	"maps"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/scim"
)

// AppSchema holds the additions to the profile schema of the users of an application. Its document id is the id of the application. An
// application without additions has no document.
type AppSchema struct {
	Custom map[string]Property `json:"custom,omitempty"`
}

func appSchemaCollection() docstore.Collection[AppSchema] {
	return docstore.NewCollection[AppSchema]("app_schemas").Cached()
}

// AppUserName is the app attribute that is stored with the credentials.
const AppUserName = "userName"

const maxUserName = 255 // characters

// appBase lists the properties of every schema of an application, with their SCIM paths. Applications that do not provision have only the
// first one.
var appBase = []struct{ name, title, external string }{
	{AppUserName, "User name", "userName"},
	{"givenName", "Given name", "name.givenName"},
	{"familyName", "Family name", "name.familyName"},
	{"middleName", "Middle name", "name.middleName"},
	{"email", "Email address", `emails[type eq "work"].value`},
	{"displayName", "Display name", "displayName"},
	{"locale", "Locale", "locale"},
	{"userType", "User type", "userType"},
	{"secondEmail", "Secondary email address", `emails[type eq "other"].value`},
	{"mobilePhone", "Mobile phone", `phoneNumbers[type eq "mobile"].value`},
}

var appBaseProperties = func() map[string]Property {
	properties := map[string]Property{}
	for _, a := range appBase {
		p := Property{Title: a.title, Type: PropertyString, ExternalName: a.external, ExternalNamespace: scim.UserSchema}
		if a.name == AppUserName {
			p.Required, p.MinLength, p.MaxLength = new(true), new(1), new(maxUserName)
		}
		p.FillIn()
		properties[a.name] = p
	}
	return properties
}()

// AppAttribute reports whether the name is in the base schema of applications that provision.
func AppAttribute(name string) bool {
	_, ok := appBaseProperties[name]
	return ok
}

// Property returns a property by its name. provisions is App.Provisions.
func (s *AppSchema) Property(name string, provisions bool) (Property, bool) {
	if p, ok := appBaseProperties[name]; ok {
		return p, provisions || name == AppUserName
	}
	p, ok := s.Custom[name]
	return p, ok
}

// All iterates over the properties by name: the base properties in their own order, then the custom ones.
func (s *AppSchema) All(provisions bool) iter.Seq2[string, Property] {
	return func(yield func(string, Property) bool) {
		for _, a := range appBase {
			if p, ok := s.Property(a.name, provisions); ok && !yield(a.name, p) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.Custom)) {
			if !yield(name, s.Custom[name]) {
				return
			}
		}
	}
}

// Kinds returns the kinds of the attributes for expressions. provisions is App.Provisions.
func (s *AppSchema) Kinds(provisions bool) map[string]expression.Kind {
	kinds := map[string]expression.Kind{}
	for name, p := range s.All(provisions) {
		kinds[name] = p.Kind()
	}
	return kinds
}
