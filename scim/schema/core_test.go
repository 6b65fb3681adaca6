package schema

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
)

func coreSchemas() []*Schema {
	return []*Schema{User(), Group(), EnterpriseUser(), ServiceProviderConfig(), ResourceTypeSchema(), SchemaSchema()}
}

// each calls fn for every attribute with its path.
func each(attributes []*Attribute, parent string, fn func(path string, a *Attribute)) {
	for _, a := range attributes {
		fn(parent+a.Name, a)
		each(a.SubAttributes, parent+a.Name+".", fn)
	}
}

func TestCoreSchemas_WellFormed(t *testing.T) {
	for _, s := range coreSchemas() {
		t.Run(s.Name, func(t *testing.T) {
			require.NotEmpty(t, s.Description)
			each(s.Attributes, "", func(path string, a *Attribute) {
				require.NotEmpty(t, a.Description, path)
				require.NotEmpty(t, a.Type, path)
				require.NotEmpty(t, a.Mutability, path)
				require.NotEmpty(t, a.Returned, path)
				require.NotEmpty(t, a.Uniqueness, path)
				require.Equal(t, a.Type == Complex, len(a.SubAttributes) > 0, path)
				require.Equal(t, a.Type == Reference, len(a.ReferenceTypes) > 0, path)
				if a.Type == Reference || a.Type == Binary {
					require.True(t, a.CaseExact, path)
				}
				if a.Type == Complex || a.Type == Boolean {
					require.Equal(t, None, a.Uniqueness, path)
				}
			})
		})
	}
}

// TestCoreSchemas_NonDefaultCharacteristics checks the characteristics of RFC 7643 section 8.7.1 that differ from the defaults, with the
// verified errata.
func TestCoreSchemas_NonDefaultCharacteristics(t *testing.T) {
	describe := func(s *Schema) map[string]string {
		out := map[string]string{}
		each(s.Attributes, "", func(path string, a *Attribute) {
			text := ""
			add := func(when bool, word string) {
				if when {
					text += " " + word
				}
			}
			add(a.Type != String, string(a.Type))
			add(a.MultiValued, "multi")
			add(a.Required, "required")
			add(a.CaseExact, "exact")
			add(a.Mutability != ReadWrite, string(a.Mutability))
			add(a.Returned != Default, string(a.Returned))
			add(a.Uniqueness != None, string(a.Uniqueness))
			for _, r := range a.ReferenceTypes {
				add(true, "->"+r)
			}
			if text != "" {
				out[path] = text[1:]
			}
		})
		return out
	}
	user := map[string]string{
		"userName": "required server", "name": "complex", "profileUrl": "reference exact ->external", "active": "boolean",
		"password": "exact writeOnly never",
		"emails":   "complex multi", "emails.primary": "boolean", "phoneNumbers": "complex multi", "phoneNumbers.primary": "boolean",
		"ims": "complex multi", "ims.primary": "boolean", "photos": "complex multi", "photos.value": "reference exact ->external",
		"photos.primary": "boolean",
		"addresses":      "complex multi", "addresses.primary": "boolean",
		"groups": "complex multi readOnly", "groups.value": "exact readOnly", "groups.$ref": "reference exact readOnly ->Group",
		"groups.display": "readOnly", "groups.type": "readOnly",
		"entitlements": "complex multi", "entitlements.primary": "boolean", "roles": "complex multi", "roles.primary": "boolean",
		"x509Certificates": "complex multi", "x509Certificates.value": "binary exact", "x509Certificates.primary": "boolean",
	}
	require.Empty(t, cmp.Diff(user, describe(User())))
	require.Empty(t, cmp.Diff(map[string]string{
		"displayName": "required", "members": "complex multi", "members.value": "required exact immutable",
		"members.$ref":    "reference exact immutable ->User ->Group",
		"members.display": "readOnly request", "members.type": "immutable",
	}, describe(Group())))
	require.Empty(t, cmp.Diff(map[string]string{
		"manager": "complex", "manager.value": "exact", "manager.$ref": "reference exact ->User", "manager.displayName": "readOnly",
	}, describe(EnterpriseUser())))
}

func TestUser_RFCAttributes(t *testing.T) {
	var names []string
	for _, a := range User().Attributes {
		names = append(names, a.Name)
	}
	require.Equal(t,
		[]string{"userName", "name", "displayName", "nickName", "profileUrl", "title", "userType", "preferredLanguage", "locale", "timezone",
			"active", "password",
			"emails", "phoneNumbers", "ims", "photos", "addresses", "groups", "entitlements", "roles", "x509Certificates"}, names)
	names = nil
	for _, a := range User().Attribute("ADDRESSES").SubAttributes {
		names = append(names, a.Name)
	}
	require.Equal(t, []string{"formatted", "streetAddress", "locality", "region", "postalCode", "country", "type", "primary"}, names)
}

// TestDiscoverySchemas checks the schemas of RFC 7643 section 8.7.2.
func TestDiscoverySchemas(t *testing.T) {
	required := func(attributes []*Attribute) (names []string) {
		for _, a := range attributes {
			if a.Required {
				names = append(names, a.Name)
			}
		}
		return names
	}
	for _, s := range []*Schema{ServiceProviderConfig(), ResourceTypeSchema(), SchemaSchema()} {
		each(s.Attributes, "", func(path string, a *Attribute) { require.Equal(t, ReadOnly, a.Mutability, "%s %s", s.Name, path) })
	}
	require.Equal(t, []string{"patch", "bulk", "filter", "changePassword", "sort", "etag", "authenticationSchemes"},
		required(ServiceProviderConfig().Attributes))
	require.Equal(t, []string{"name", "endpoint", "schema"}, required(ResourceTypeSchema().Attributes))
	extensions := ResourceTypeSchema().Attribute("schemaExtensions")
	require.True(t, extensions.MultiValued)
	require.Equal(t, Complex, extensions.Type)
	require.Equal(t, []string{"schema", "required"}, required(extensions.SubAttributes))
	for _, name := range []string{"id", "name", "description", "attributes"} {
		require.NotNil(t, SchemaSchema().Attribute(name), name)
	}
	definition := SchemaSchema().Attribute("attributes")
	for _, name := range []string{"name", "type", "multiValued", "description", "required", "canonicalValues", "caseExact", "mutability",
		"returned", "uniqueness", "referenceTypes", "subAttributes"} {
		require.NotNil(t, definition.SubAttribute(name), name)
	}
}

func TestUser_ReturnsCopy(t *testing.T) {
	User().Attribute("userName").Required = false
	require.True(t, User().Attribute("userName").Required)
}

func TestDiscoveryDocuments(t *testing.T) {
	r := User().Resource()
	require.Equal(t, []string{scim.SchemaSchema}, r.Schemas())
	require.Equal(t, scim.UserSchema, r.ID())
	require.Equal(t, "Schema", r.Meta().ResourceType)
	find := func(o *scim.Object, member, name string) *scim.Object {
		for _, v := range o.Array(member) {
			if v.(*scim.Object).Text("name") == name {
				return v.(*scim.Object)
			}
		}
		t.Fatalf("no %s", name)
		return nil
	}
	require.Equal(t,
		`{"name":"userName","type":"string","multiValued":false,"description":"Unique identifier for the User, typically used by the user to `+
			`directly authenticate to the service provider.","required":true,"caseExact":false,"mutability":"readWrite","returned":"default",`+
			`"uniqueness":"server"}`,
		string(find(&r.Object, "attributes", "userName").AppendJSON(nil)))
	groups := find(&r.Object, "attributes", "groups")
	require.Equal(t,
		`{"name":"$ref","type":"reference","multiValued":false,"description":"The URI of the corresponding 'Group' resource to which the user `+
			`belongs.","required":false,"caseExact":true,"mutability":"readOnly","returned":"default","uniqueness":"none",`+
			`"referenceTypes":["Group"]}`,
		string(find(groups, "subAttributes", "$ref").AppendJSON(nil)))
	active := find(&r.Object, "attributes", "active")
	for _, meaningless := range []string{"caseExact", "uniqueness", "subAttributes", "referenceTypes", "canonicalValues"} {
		_, ok := active.Get(meaningless)
		require.False(t, ok, meaningless)
	}
	require.Equal(t,
		`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],"id":"User","meta":{"resourceType":"ResourceType"},"name":"User",`+
			`"endpoint":"/Users","description":"User Account","schema":"urn:ietf:params:scim:schemas:core:2.0:User",`+
			`"schemaExtensions":[{"schema":"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User","required":false}]}`,
		string(UserType().Resource().AppendJSON(nil)))
}

func TestSchema_RoundTrip(t *testing.T) {
	for _, s := range coreSchemas() {
		if s.ID == scim.SchemaSchema { // complex in complex: the only exception
			continue
		}
		text, err := json.Marshal(s)
		require.NoError(t, err)
		again, err := Parse(text)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(s, again), s.Name)
	}
}

// TestSchema_Defaults checks that decoding a schema sets the default characteristics.
func TestSchema_Defaults(t *testing.T) {
	var s Schema
	require.NoError(t, json.Unmarshal([]byte(`{"id":"urn:x:y","attributes":[{"name":"a"},{"name":"r","type":"reference"}]}`), &s))
	require.Empty(t, cmp.Diff([]*Attribute{
		{Name: "a", Type: String, Mutability: ReadWrite, Returned: Default, Uniqueness: None},
		{Name: "r", Type: Reference, CaseExact: true, Mutability: ReadWrite, Returned: Default, Uniqueness: None},
	}, s.Attributes))
}

func TestParse_Rejects(t *testing.T) {
	for name, test := range map[string]struct{ in, msg string }{
		"input that is not JSON":                 {`{`, "at byte"},
		"a schema without id":                    {`{"attributes":[{"name":"a"}]}`, "no id"},
		"an id that is not a URI":                {`{"id":"a b","attributes":[{"name":"a"}]}`, "not a URI"},
		"a schema without attributes":            {`{"id":"urn:x:y"}`, "no attributes"},
		"attributes that are not an array":       {`{"id":"urn:x:y","attributes":{}}`, "not an array"},
		"an attribute that is not an object":     {`{"id":"urn:x:y","attributes":["a"]}`, "attributes[0] is not an object"},
		"an attribute without name":              {`{"id":"urn:x:y","attributes":[{"type":"string"}]}`, "not an attribute name"},
		"a bad name":                             {`{"id":"urn:x:y","attributes":[{"name":"a.b"}]}`, `"a.b" is not`},
		"a name twice":                           {`{"id":"urn:x:y","attributes":[{"name":"a"},{"name":"A"}]}`, "A is defined twice"},
		"an unknown type":                        {`{"id":"urn:x:y","attributes":[{"name":"a","type":"date"}]}`, `a: type is "date"`},
		"an unknown mutability":                  {`{"id":"urn:x:y","attributes":[{"name":"a","mutability":"sometimes"}]}`, "mutability"},
		"an unknown returned":                    {`{"id":"urn:x:y","attributes":[{"name":"a","returned":1}]}`, "returned"},
		"an unknown uniqueness":                  {`{"id":"urn:x:y","attributes":[{"name":"a","uniqueness":"local"}]}`, "uniqueness"},
		"a string for a boolean":                 {`{"id":"urn:x:y","attributes":[{"name":"a","multiValued":"true"}]}`, "multiValued"},
		"a number for a string":                  {`{"id":"urn:x:y","attributes":[{"name":"a","description":1}]}`, "description"},
		"canonical values that are not strings":  {`{"id":"urn:x:y","attributes":[{"name":"a","canonicalValues":[1]}]}`, "canonicalValues"},
		"canonical values that are not an array": {`{"id":"urn:x:y","attributes":[{"name":"a","canonicalValues":"b"}]}`, "canonicalValues"},
		"complex inside complex": {`{"id":"urn:x:y","attributes":[{"name":"a","type":"complex","subAttributes":[{"name":"b",` +
			`"type":"complex","subAttributes":[{"name":"c"}]}]}]}`, "a.b: a complex"},
		"complex without sub-attributes": {`{"id":"urn:x:y","attributes":[{"name":"a","type":"complex"}]}`, "needs sub-attributes"},
		"sub-attributes of a simple attribute": {`{"id":"urn:x:y","attributes":[{"name":"a","subAttributes":[{"name":"b"}]}]}`,
			"only a complex"},
		"the error of a bad sub-attribute names its path": {
			`{"id":"urn:x:y","attributes":[{"name":"a","type":"complex","subAttributes":[{"name":"1"}]}]}`,
			`"a.1"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(test.in))
			require.ErrorContains(t, err, test.msg)
			require.Error(t, json.Unmarshal([]byte(test.in), new(Schema)))
		})
	}
}

func TestResolve(t *testing.T) {
	rt := UserType()
	for in, want := range map[string]string{
		"USERNAME":                          "userName",
		"name.GivenName":                    "name.givenName",
		"id":                                "id",
		"externalid":                        "externalId",
		"schemas":                           "schemas",
		"META.lastmodified":                 "meta.lastModified",
		"groups.$REF":                       "groups.$ref",
		scim.UserSchema + ":username":       "userName",
		scim.UserSchema + ":id":             "id",
		scim.EnterpriseUserSchema:           scim.EnterpriseUserSchema,
		scim.EnterpriseUserSchema + ":cost": "",
		"URN:IETF:params:scim:schemas:extension:enterprise:2.0:user:COSTCENTER":    scim.EnterpriseUserSchema + ":costCenter",
		"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value": scim.EnterpriseUserSchema + ":manager.value",
		"costCenter":           "",
		"userName.x":           "",
		"name.x":               "",
		"x":                    "",
		scim.UserSchema:        "",
		"urn:other:x":          "",
		"urn:ietf:params:User": "",
	} {
		p, err := scim.ParseAttrPath(in)
		require.NoError(t, err)
		r, ok := rt.Resolve(p)
		require.Equal(t, want != "", ok, in)
		if ok {
			require.Equal(t, want, r.Path.String(), in)
			require.Equal(t, r.Path.URN != "", r.Extension)
		}
	}
	odd := &ResourceType{Name: "Odd", Schema: User(),
		Extensions: []Extension{{Schema: &Schema{ID: "urn:example:ext:2.0", Attributes: []*Attribute{{Name: "a"}}}},
			{Schema: &Schema{ID: "urn:example:v1.x"}}}}
	for _, in := range []string{"urn:example:ext:2.0", "urn:example:ext:2.0:a", "urn:example:v1.x"} {
		p, err := scim.ParseAttrPath(in)
		require.NoError(t, err)
		r, ok := odd.Resolve(p)
		require.True(t, ok, in)
		require.Equal(t, in, r.Path.String())
	}
}
