package patch

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

func runAll(t *testing.T, steps []step) {
	for _, s := range steps {
		t.Run(s.name, s.run)
	}
}

func TestMutability(t *testing.T) {
	runAll(t, []step{
		{name: "a read-only attribute cannot be replaced", ops: `{"op":"replace","path":"id","value":"2"}`, fail: scim.Mutability},
		{name: "a read-only attribute cannot be set to its current value by path", ops: `{"op":"replace","path":"id","value":"1"}`,
			fail: scim.Mutability},
		{name: "a sub-attribute of a read-only attribute cannot be replaced", ops: `{"op":"replace","path":"meta.version","value":"2"}`,
			fail: scim.Mutability},
		{name: "elements cannot be added to a read-only attribute", ops: `{"op":"add","path":"groups","value":[{"value":"g2"}]}`,
			fail: scim.Mutability},
		{name: "elements of a read-only attribute cannot be removed", ops: `{"op":"remove","path":"groups[value eq \"g1\"]"}`,
			fail: scim.Mutability},
		{name: "a read-only attribute cannot be changed without a path", ops: `{"op":"replace","value":{"id":"2"}}`, fail: scim.Mutability},
		{name: "without a path the current value of a read-only attribute is ignored", ops: `{"op":"replace","value":{"id":"1"}}`},
		{name: "lenient ignores any value of read-only attributes", ops: `{"op":"replace","value":{"id":"2","groups":[],"title":"B"}}`,
			want: `{"title":"B"}`,
			opts: Options{Accept: lenient.All}},
		{name: "a read-only sub-attribute in a complex value is ignored",
			ops:  `{"op":"replace","path":"` + enterprise + `:manager","value":{"value":"27","displayName":"X"}}`,
			want: `{"` + enterprise + `":{"employeeNumber":"7","manager":{"value":"27","displayName":"John"}}}`},
		{name: "a read-only sub-attribute cannot be a path", ops: `{"op":"replace","path":"` + enterprise + `:manager.displayName","value":"X"}`,
			fail: scim.Mutability},
		{name: "a read-only extension attribute cannot be set", ops: `{"op":"add","path":"urn:example:Tags","value":{"score":6}}`,
			fail: scim.Mutability},
		{name: "an immutable attribute with a value cannot change", ops: `{"op":"replace","path":"urn:example:Tags:serial","value":"S2"}`,
			fail: scim.Mutability},
		{name: "an immutable attribute can be replaced by its current value",
			ops: `{"op":"replace","path":"urn:example:Tags:serial","value":"S1"}`},
		{name: "an immutable attribute cannot be removed", ops: `{"op":"remove","path":"urn:example:Tags:serial"}`, fail: scim.Mutability},
		{name: "an immutable attribute cannot be removed with its schema", ops: `{"op":"remove","path":"urn:example:Tags"}`,
			fail: scim.Mutability},
		{name: "an unassigned immutable attribute can be set by add", on: bareUser,
			ops:  `{"op":"add","path":"urn:example:Tags:serial","value":"S2"}`,
			want: `{"schemas":["` + scim.UserSchema + `","urn:example:Tags"],"urn:example:Tags":{"serial":"S2"}}`},
		{name: "an unassigned immutable attribute can be set by replace", on: bareUser,
			ops:  `{"op":"replace","path":"urn:example:Tags:codes","value":["x"]}`,
			want: `{"schemas":["` + scim.UserSchema + `","urn:example:Tags"],"urn:example:Tags":{"codes":["x"]}}`},
		{name: "elements cannot be added to an immutable attribute with values", on: bareUser,
			ops:  `{"op":"add","path":"urn:example:Tags:codes","value":["x"]},{"op":"add","path":"urn:example:Tags:codes","value":["y"]}`,
			fail: scim.Mutability},
		{name: "an immutable sub-attribute with a value cannot change",
			ops:  `{"op":"add","path":"urn:example:Tags:origin","value":{"country":"SE"}}`,
			fail: scim.Mutability},
		{name: "an immutable sub-attribute cannot be removed with its parent",
			ops: `{"op":"replace","path":"urn:example:Tags:origin","value":null}`, fail: scim.Mutability},
		{name: "a required attribute cannot be removed", ops: `{"op":"remove","path":"userName"}`, fail: scim.Mutability},
		{name: "a required attribute cannot be empty", ops: `{"op":"replace","path":"userName","value":""}`, fail: scim.InvalidValue},
		{name: "a required attribute cannot be replaced by null", ops: `{"op":"replace","value":{"userName":null}}`, fail: scim.InvalidValue},
		{name: "password can be set", ops: `{"op":"replace","path":"password","value":"t1meMa$heen"}`, want: `{"password":"t1meMa$heen"}`},
	})
}

func TestMembers(t *testing.T) {
	const group = `{"schemas":["` + scim.GroupSchema +
		`"],"id":"g","displayName":"G","members":[{"value":"A","type":"User"},{"value":"B","display":"b"}]}`
	rt := schema.GroupType()
	runAll(t, []step{
		{name: "an existing member is not added again", on: group, rt: rt,
			ops: `{"op":"add","path":"members","value":[{"value":"A","display":"Other Name"}]}`},
		{name: "members are appended", on: group, rt: rt,
			ops:  `{"op":"add","path":"members","value":[{"value":"A"},{"value":"C"},{"value":"C"}]}`,
			want: `{"members":[{"value":"A","type":"User"},{"value":"B","display":"b"},{"value":"C"}]}`},
		{name: "a member's value cannot change", on: group, rt: rt, ops: `{"op":"replace","path":"members[value eq \"A\"].value","value":"C"}`,
			fail: scim.Mutability},
		{name: "a member's value cannot be removed", on: group, rt: rt, ops: `{"op":"remove","path":"members[value eq \"A\"].value"}`,
			fail: scim.Mutability},
		{name: "an unassigned sub-attribute can be set", on: group, rt: rt,
			ops:  `{"op":"add","path":"members[value eq \"B\"].type","value":"User"}`,
			want: `{"members":[{"value":"A","type":"User"},{"value":"B","display":"b","type":"User"}]}`},
		{name: "a client cannot set the display name of a member", on: group, rt: rt,
			ops: `{"op":"add","path":"members[value eq \"A\"].display","value":"a"}`, fail: scim.Mutability},
		{name: "a whole member can be replaced", on: group, rt: rt,
			ops:  `{"op":"replace","path":"members[value eq \"A\"]","value":{"value":"C"}}`,
			want: `{"members":[{"value":"C"},{"value":"B","display":"b"}]}`},
		{name: "replace sets the whole list", on: group, rt: rt, ops: `{"op":"replace","path":"members","value":[{"value":"B"},{"value":"B"}]}`,
			want: `{"members":[{"value":"B"}]}`},
		{name: "ids compare exactly", on: group, rt: rt, ops: `{"op":"remove","path":"members[value eq \"a\"]"}`},
		{name: "remove empties the group", on: group, rt: rt, ops: `{"op":"remove","path":"members"}`, want: `{"members":null}`},
		{name: "remove with a list is rejected", on: group, rt: rt, ops: `{"op":"remove","path":"members","value":[{"value":"A"}]}`,
			fail: scim.InvalidValue},
		{name: "lenient remove with a list removes the listed members", on: group, rt: rt,
			ops:  `{"op":"Remove","path":"members","value":[{"value":"A","$ref":null},{"value":"Z"}]}`,
			want: `{"members":[{"value":"B","display":"b"}]}`, opts: Options{Accept: lenient.All}},
		{name: "lenient remove accepts plain values", on: group, rt: rt, ops: `{"op":"remove","path":"members","value":["A","B"]}`,
			want: `{"members":null}`, opts: Options{Accept: lenient.All}},
		{name: "lenient remove matches by all given sub-attributes", on: group, rt: rt,
			ops:  `{"op":"remove","path":"members","value":[{"type":"user"}]}`,
			want: `{"members":[{"value":"B","display":"b"}]}`, opts: Options{Accept: lenient.All}},
		{name: "lenient remove with an empty list removes no member", on: group, rt: rt, ops: `{"op":"remove","path":"members","value":[]}`,
			opts: Options{Accept: lenient.All}},
		{name: "lenient remove with an empty entry removes no member", on: group, rt: rt, ops: `{"op":"remove","path":"members","value":[{}]}`,
			opts: Options{Accept: lenient.All}},
	})
}

func TestPrimary(t *testing.T) {
	const home = `{"value":"b@home.example","type":"home"`
	runAll(t, []step{
		{name: "a new primary element replaces the previous one", ops: `{"op":"add","path":"emails","value":[{"value":"c@x","primary":true}]}`,
			want: `{"emails":[{"value":"b@work.example","type":"work","primary":false},` + home + `},{"value":"c@x","primary":true}]}`},
		{name: "primary can be set through a filter", ops: `{"op":"replace","path":"emails[type eq \"home\"].primary","value":true}`,
			want: `{"emails":[{"value":"b@work.example","type":"work","primary":false},` + home + `,"primary":true}]}`},
		{name: "an existing element can become primary", ops: `{"op":"add","path":"emails","value":[` + home + `,"primary":true}]}`,
			want: `{"emails":[{"value":"b@work.example","type":"work","primary":false},` + home + `,"primary":true}]}`},
		{name: "a replaced element becomes the primary one",
			ops:  `{"op":"replace","path":"emails[type eq \"home\"]","value":{"value":"c@x","primary":true}}`,
			want: `{"emails":[{"value":"b@work.example","type":"work","primary":false},{"value":"c@x","primary":true}]}`},
		{name: "two primary elements in one value are rejected",
			ops: `{"op":"add","path":"emails","value":[{"value":"c@x","primary":true},{"value":"d@x","primary":true}]}`, fail: scim.InvalidValue},
		{name: "two primary elements in one replacement are rejected",
			ops:  `{"op":"replace","path":"emails","value":[{"value":"c@x","primary":true},{"value":"d@x","primary":true}]}`,
			fail: scim.InvalidValue},
		{name: "the next operation sees the new primary element",
			ops:  `{"op":"add","path":"emails","value":[{"value":"c@x","primary":true}]},{"op":"remove","path":"emails[primary eq true]"}`,
			want: `{"emails":[{"value":"b@work.example","type":"work","primary":false},` + home + `}]}`},
		{name: "other changes do not affect primary", ops: `{"op":"replace","path":"emails[type eq \"home\"].value","value":"c@x"}`,
			want: `{"emails":[{"value":"b@work.example","type":"work","primary":true},{"value":"c@x","type":"home"}]}`},
	})
}

func TestPathsAndValues(t *testing.T) {
	runAll(t, []step{
		{name: "an unknown attribute is an invalid path", ops: `{"op":"add","path":"shoeSize","value":"9"}`, fail: scim.InvalidPath},
		{name: "an unknown sub-attribute is an invalid path", ops: `{"op":"add","path":"name.shoeSize","value":"9"}`, fail: scim.InvalidPath},
		{name: "an unknown sub-attribute after a filter is an invalid path",
			ops:  `{"op":"add","path":"emails[type eq \"work\"].size","value":"9"}`,
			fail: scim.InvalidPath},
		{name: "an unknown schema is an invalid path", ops: `{"op":"add","path":"urn:example:Other:x","value":"9"}`, fail: scim.InvalidPath},
		{name: "an unknown name in a value is an invalid value", ops: `{"op":"add","value":{"shoeSize":"9"}}`, fail: scim.InvalidValue},
		{name: "an unknown sub-attribute in a value is an invalid value", ops: `{"op":"add","path":"name","value":{"shoeSize":"9"}}`,
			fail: scim.InvalidValue},
		{name: "a JSON pointer is not a path", ops: `{"op":"replace","path":"/emails/0","value":"9"}`, fail: scim.InvalidPath},
		{name: "an array index is not a path", ops: `{"op":"replace","path":"emails[0]","value":"9"}`, fail: scim.InvalidPath},
		{name: "a bare comparison is not a path", ops: `{"op":"replace","path":"emails eq \"x\"","value":"9"}`, fail: scim.InvalidPath},
		{name: "a single value cannot have a filter", ops: `{"op":"replace","path":"name[familyName eq \"x\"]","value":{}}`,
			fail: scim.InvalidPath},
		{name: "a schema cannot have a filter", ops: `{"op":"remove","path":"` + enterprise + `[x eq 1]"}`, fail: scim.InvalidPath},
		{name: "a filter must match the types", ops: `{"op":"remove","path":"emails[primary gt true]"}`, fail: scim.InvalidFilter},
		{name: "add needs a value", ops: `{"op":"add","path":"title"}`, fail: scim.InvalidValue},
		{name: "replace needs a value", ops: `{"op":"replace","path":"title"}`, fail: scim.InvalidValue},
		{name: "the value must have the attribute's type", ops: `{"op":"replace","path":"active","value":"False"}`, fail: scim.InvalidValue},
		{name: "lenient reads spelled booleans", ops: `{"op":"Replace","path":"active","value":"False"}`, want: `{"active":false}`,
			opts: Options{Accept: lenient.All}},
		{name: "an array is not a single value", ops: `{"op":"replace","path":"title","value":["x"]}`, fail: scim.InvalidValue},
		{name: "op must be lower case", ops: `{"op":"Add","path":"title","value":"x"}`, fail: scim.InvalidValue},
		{name: "add of null adds nothing", ops: `{"op":"add","path":"title","value":null}`},
		{name: "add of null inside a value adds nothing", ops: `{"op":"add","value":{"title":null,"emails":null,"name":{"givenName":null}}}`},
		{name: "add of an existing value changes nothing",
			ops: `{"op":"add","path":"emails","value":[{"TYPE":"Work","value":"B@work.example","primary":true}]}`},
		{name: "one value may have two types", ops: `{"op":"add","path":"emails","value":[{"value":"b@work.example","type":"other"}]}`,
			want: `{"emails":[{"value":"b@work.example","type":"work","primary":true},{"value":"b@home.example","type":"home"},` +
				`{"value":"b@work.example","type":"other"}]}`},
		{name: "elements that become equal are merged",
			ops: `{"op":"replace","path":"emails[type eq \"home\"].value","value":"b@work.example"},{"op":"replace","path":"emails[type eq ` +
				`\"home\"].type","value":"work"}`,
			want: `{"emails":[{"value":"b@work.example","type":"work","primary":true}]}`},
		{name: "the base schema's URN may precede a path",
			ops:  `{"op":"replace","path":"` + scim.UserSchema + `:name.familyName","value":"J"}`,
			want: `{"name":{"givenName":"Barbara","familyName":"J"}}`},
		{name: "URNs ignore case", ops: `{"op":"replace","path":"` + strings.ToUpper(enterprise) + `:EMPLOYEENUMBER","value":"8"}`,
			want: `{"` + enterprise + `":{"employeeNumber":"8","manager":{"value":"26","displayName":"John"}}}`},
		{name: "no operation takes effect if one fails", ops: `{"op":"replace","path":"title","value":"x"},{"op":"remove","path":"userName"}`,
			fail: scim.Mutability},
		{name: "operations that undo each other change nothing",
			ops: `{"op":"replace","path":"title","value":"x"},{"op":"replace","path":"title","value":"Tour Guide"}`},
		{name: "a later operation sees the result of the earlier one",
			ops: `{"op":"add","path":"emails","value":{"value":"c@x","type":"other"}},{"op":"replace","path":"emails[type eq \"other\"].value",` +
				`"value":"d@x"}`,
			want: `{"emails":[{"value":"b@work.example","type":"work","primary":true},{"value":"b@home.example","type":"home"},{"value":"d@x",` +
				`"type":"other"}]}`},
		{name: "dotted keys are rejected", ops: `{"op":"add","value":{"name.givenName":"x"}}`, fail: scim.InvalidValue},
		{name: "lenient reads keys as paths", opts: Options{Accept: lenient.All},
			ops: `{"op":"Replace","value":{"name.givenName":"x","` + enterprise + `:department":"D","emails[type eq \"home\"].value":"c@x"}}`,
			want: `{"name":{"givenName":"x","familyName":"Jensen"},"` + enterprise +
				`":{"employeeNumber":"7","manager":{"value":"26","displayName":"John"},"department":"D"},"emails":[{"value":"b@work.example",` +
				`"type":"work","primary":true},{"value":"c@x","type":"home"}]}`},
		{name: "lenient creates the element that an eq filter describes", opts: Options{Accept: lenient.All}, on: bareUser,
			ops: `{"op":"Add","path":"emails[type eq \"work\"].value","value":"c@x"},{"op":"Add","path":"addresses[type eq \"work\" and primary ` +
				`eq true]","value":{"country":"NO"}}`,
			want: `{"emails":[{"type":"work","value":"c@x"}],"addresses":[{"type":"work","primary":true,"country":"NO"}]}`},
		{name: "lenient creates nothing on replace", opts: Options{Accept: lenient.All}, on: bareUser,
			ops: `{"op":"replace","path":"emails[type eq \"work\"].value","value":"c@x"}`, fail: scim.NoTarget},
		{name: "lenient creates nothing from other filters", opts: Options{Accept: lenient.All}, on: bareUser,
			ops: `{"op":"add","path":"emails[type ne \"work\"].value","value":"c@x"}`, fail: scim.NoTarget},
		{name: "lenient accepts a plain manager", opts: Options{Accept: lenient.All}, on: bareUser,
			ops:  `{"op":"add","path":"` + enterprise + `:manager","value":"26"}`,
			want: `{"schemas":["` + scim.UserSchema + `","` + enterprise + `"],"` + enterprise + `":{"manager":{"value":"26"}}}`},
	})
}

func TestSchemasAttribute(t *testing.T) {
	runAll(t, []step{
		{name: "add of a schema without data changes nothing", on: bareUser, ops: `{"op":"add","path":"schemas","value":["` + enterprise + `"]}`},
		{name: "an unknown schema is rejected", ops: `{"op":"add","path":"schemas","value":["urn:x:y"]}`, fail: scim.InvalidValue},
		{name: "without a path no schema is removed", ops: `{"op":"replace","value":{"schemas":["` + scim.UserSchema + `"]}}`},
		{name: "with the path the data of a schema is removed with it",
			ops:  `{"op":"replace","path":"schemas","value":["` + scim.UserSchema + `","urn:example:Tags"]}`,
			want: `{"schemas":["` + scim.UserSchema + `","urn:example:Tags"],"` + enterprise + `":null}`},
		{name: "a schema selected by a filter is removed with its data", ops: `{"op":"remove","path":"schemas[value eq \"` + enterprise + `\"]"}`,
			want: `{"schemas":["` + scim.UserSchema + `","urn:example:Tags"],"` + enterprise + `":null}`},
		{name: "the base schema cannot be replaced", ops: `{"op":"replace","path":"schemas","value":["` + enterprise + `"]}`,
			fail: scim.Mutability},
		{name: "the list cannot be removed", ops: `{"op":"remove","path":"schemas"}`, fail: scim.Mutability},
		{name: "the base schema cannot be removed by a filter", ops: `{"op":"remove","path":"schemas[value sw \"urn\"]"}`, fail: scim.Mutability},
		{name: "a later operation sees that the data was removed",
			ops: `{"op":"remove","path":"schemas[value eq \"` + enterprise + `\"]"},{"op":"add","path":"` + enterprise +
				`:department","value":"D"}`,
			want: `{"` + enterprise + `":{"department":"D"}}`},
	})
}

func TestRequiredExtension(t *testing.T) {
	rt := schema.UserType()
	rt.Extensions = []schema.Extension{{Required: true, Schema: &schema.Schema{ID: "urn:example:Must", Attributes: []*schema.Attribute{
		{Name: "a", Required: true}, {Name: "b"}}}}}
	const on = `{"schemas":["` + scim.UserSchema + `","urn:example:Must"],"userName":"b","urn:example:Must":{"a":"1","b":"2"}}`
	runAll(t, []step{
		{name: "a required extension cannot be removed", on: on, rt: rt, ops: `{"op":"remove","path":"urn:example:Must"}`, fail: scim.Mutability},
		{name: "the required attribute of an extension cannot be removed", on: on, rt: rt, ops: `{"op":"remove","path":"urn:example:Must:a"}`,
			fail: scim.Mutability},
		{name: "the optional attribute of an extension can be removed", on: on, rt: rt, ops: `{"op":"remove","path":"urn:example:Must:b"}`,
			want: `{"urn:example:Must":{"a":"1"}}`},
	})
	optional := schema.UserType()
	optional.Extensions = []schema.Extension{{Schema: rt.Extensions[0].Schema}}
	runAll(t, []step{
		{name: "an extension cannot be added without its required attribute", on: bareUser, rt: optional,
			ops: `{"op":"add","path":"urn:example:Must:b","value":"2"}`, fail: scim.InvalidValue},
		{name: "two operations may set the attributes of an extension", on: bareUser, rt: optional,
			ops:  `{"op":"add","path":"urn:example:Must:b","value":"2"},{"op":"add","path":"urn:example:Must:a","value":"1"}`,
			want: `{"schemas":["` + scim.UserSchema + `","urn:example:Must"],"urn:example:Must":{"b":"2","a":"1"}}`},
		{name: "an optional extension is removed with its required attribute",
			on: strings.Replace(on, `"userName":"b"`, `"userName":"b","id":"1"`, 1),
			rt: optional, ops: `{"op":"remove","path":"urn:example:Must"}`,
			want: `{"schemas":["` + scim.UserSchema + `"],"urn:example:Must":null}`},
	})
}

// TestBareExtensions_Unambiguous checks that a name without URN selects an extension attribute only if exactly one extension defines it.
func TestBareExtensions_Unambiguous(t *testing.T) {
	first := &schema.Schema{ID: "urn:example:First", Attributes: []*schema.Attribute{{Name: "level"}, {Name: "floor"}}}
	second := &schema.Schema{ID: "urn:example:Second", Attributes: []*schema.Attribute{{Name: "level"}, {Name: "title"}}}
	core := schema.UserType()
	rt := &schema.ResourceType{ID: core.ID, Name: core.Name, Endpoint: core.Endpoint, Schema: core.Schema,
		Extensions: []schema.Extension{{Schema: first}, {Schema: second}}}
	accept := Options{Accept: lenient.BareExtensions}
	runAll(t, []step{
		{name: "an attribute that one extension defines", on: bareUser, rt: rt, opts: accept, ops: `{"op":"add","path":"Floor","value":"3"}`,
			want: `{"schemas":["` + scim.UserSchema + `","urn:example:First"],"urn:example:First":{"floor":"3"}}`},
		{name: "an attribute that two extensions define", on: bareUser, rt: rt, opts: accept, ops: `{"op":"add","path":"level","value":"3"}`,
			fail: scim.InvalidPath},
		{name: "an attribute with the URN of another schema", on: bareUser, rt: rt, opts: accept,
			ops:  `{"op":"add","path":"urn:example:Second:floor","value":"3"}`,
			fail: scim.InvalidPath},
		{name: "the base schema has precedence", on: bareUser, rt: rt, opts: accept, ops: `{"op":"add","path":"title","value":"Boss"}`,
			want: `{"title":"Boss"}`},
		{name: "without the leniency", on: bareUser, rt: rt, ops: `{"op":"add","path":"floor","value":"3"}`, fail: scim.InvalidPath},
	})
}

func TestApply_RejectsTooManyOperations(t *testing.T) {
	ops := strings.Repeat(`{"op":"remove","path":"title"},`, 3)
	_, _, err := Apply(resource(t, fullUser), request(t, strings.TrimSuffix(ops, ",")), userType(), Options{MaxOperations: 2})
	var e *scim.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, 413, e.Status)
}

func TestApply_ErrorNamesOperation(t *testing.T) {
	_, _, err := Apply(resource(t, fullUser), request(t, `{"op":"remove","path":"title"},{"op":"remove"}`), userType(), Options{})
	require.EqualError(t, err, "400 noTarget: Operations[1]: remove needs a path")
}

// TestApply_RFCExamples runs the examples of RFC 7644 section 3.5.2.
func TestApply_RFCExamples(t *testing.T) {
	group := `{"schemas":["` + scim.GroupSchema + `"],"id":"acbf3ae7","displayName":"Group A","members":[
		{"display":"Mandy Pepperidge","$ref":"https://example.com/v2/Users/2819c223","value":"2819c223"},
		{"display":"James Smith","$ref":"https://example.com/v2/Users/08e1d05d","value":"08e1d05d"}]}`
	// The display name of a member is read-only in this schema, so the values in the examples are ignored.
	named := `{"display":"Babs Jensen","$ref":"https://example.com/v2/Users/2819c223...413861904646",` +
		`"value":"2819c223-7f76-453a-919d-413861904646"}`
	babs := `{"$ref":"https://example.com/v2/Users/2819c223...413861904646","value":"2819c223-7f76-453a-919d-413861904646"}`
	mandy := `{"display":"Mandy Pepperidge","$ref":"https://example.com/v2/Users/2819c223","value":"2819c223"}`
	james := `{"display":"James Smith","$ref":"https://example.com/v2/Users/08e1d05d","value":"08e1d05d"}`
	address := `{"type":"work","streetAddress":"911 Universal City Plaza","locality":"Hollywood","region":"CA","postalCode":"91608",` +
		`"country":"US","formatted":"911 Universal City Plaza\nHollywood, CA 91608 US","primary":true}`
	user := `{"schemas":["` + scim.UserSchema + `"],"id":"1","userName":"bjensen","addresses":[
		{"type":"work","streetAddress":"100 Universal City Plaza","primary":true},{"type":"home","streetAddress":"456 Hollywood Blvd"}],
		"emails":[{"value":"bjensen@example.com","type":"work"},{"value":"babs@jensen.org","type":"home"}]}`
	rt := schema.GroupType()
	runAll(t, []step{
		{name: "add a member", on: group, rt: rt, ops: `{"op":"add","path":"members","value":[` + named + `]}`,
			want: `{"members":[` + mandy + `,` + james + `,` + babs + `]}`},
		{name: "add without path", on: bareUser,
			ops:  `{"op":"add","value":{"emails":[{"value":"babs@jensen.org","type":"home"}],"nickname":"Babs"}}`,
			want: `{"emails":[{"value":"babs@jensen.org","type":"home"}],"nickName":"Babs"}`},
		{name: "remove a member", on: group, rt: rt, ops: `{"op":"remove","path":"members[value eq \"2819c223\"]"}`,
			want: `{"members":[` + james + `]}`},
		{name: "remove all members", on: group, rt: rt, ops: `{"op":"remove","path":"members"}`, want: `{"members":null}`},
		{name: "remove work emails containing example.com", on: user,
			ops:  `{"op":"remove","path":"emails[type eq \"work\" and value ew \"example.com\"]"}`,
			want: `{"emails":[{"value":"babs@jensen.org","type":"home"}]}`},
		{name: "remove and add a member", on: group, rt: rt,
			ops:  `{"op":"remove","path":"members[value eq \"2819c223\"]"},{"op":"add","path":"members","value":[` + named + `]}`,
			want: `{"members":[` + james + `,` + babs + `]}`},
		{name: "replace all members", on: group, rt: rt, ops: `{"op":"replace","path":"members","value":[` + mandy + `,` + named + `]}`,
			want: `{"members":[{"$ref":"https://example.com/v2/Users/2819c223","value":"2819c223"},` + babs + `]}`},
		{name: "replace the work address", on: user, ops: `{"op":"replace","path":"addresses[type eq \"work\"]","value":` + address + `}`,
			want: `{"addresses":[` + address + `,{"type":"home","streetAddress":"456 Hollywood Blvd"}]}`},
		{name: "replace a street", on: user,
			ops: `{"op":"replace","path":"addresses[type eq \"work\"].streetAddress","value":"1010 Broadway Ave"}`,
			want: `{"addresses":[{"type":"work","streetAddress":"1010 Broadway Ave","primary":true},{"type":"home","streetAddress":"456 ` +
				`Hollywood Blvd"}]}`},
		{name: "replace without path", on: user,
			ops: `{"op":"replace","value":{"emails":[{"value":"bjensen@example.com","type":"work","primary":true},{"value":"babs@jensen.org",` +
				`"type":"home"}],"nickname":"Babs"}}`,
			want: `{"emails":[{"value":"bjensen@example.com","type":"work","primary":true},{"value":"babs@jensen.org","type":"home"}],` +
				`"nickName":"Babs"}`},
	})
}

func BenchmarkApply(b *testing.B) {
	r, rt := resource(b, fullUser), userType()
	req := request(b, `{"op":"replace","path":"emails[type eq \"home\"].value","value":"new@x.example"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Apply(r, req, rt, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyOneOfManyMembers(b *testing.B) {
	group := &scim.Resource{}
	group.AddSchema(scim.GroupSchema)
	group.Set("displayName", "G")
	var members []any
	for i := range 10_000 {
		members = append(members, scim.NewObject(scim.Member{Name: "value", Value: fmt.Sprint(i)}))
	}
	group.Set("members", members)
	rt, req := schema.GroupType(), request(b, `{"op":"add","path":"members","value":[{"value":"new"}]}`)
	for b.Loop() {
		if _, _, err := Apply(group, req, rt, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestApply_Work(t *testing.T) {
	elements := make([]any, 1000)
	for i := range elements {
		elements[i] = scim.NewObject(scim.Member{Name: "value", Value: fmt.Sprintf("u%d@example.com", i)})
	}
	user := &scim.Resource{Object: *scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.UserSchema}},
		scim.Member{Name: "userName", Value: "u"}, scim.Member{Name: "emails", Value: elements})}
	for _, op := range []string{
		`{"op":"add","path":"emails","value":[{"value":"new@example.com"}]}`,
		`{"op":"add","path":"emails[value eq \"u1@example.com\"]","value":{"type":"home"}}`,
		`{"op":"replace","path":"emails.type","value":"home"}`,
		`{"op":"remove","path":"emails[value eq \"x\"]"}`,
		`{"op":"remove","path":"emails","value":[{"value":"x"}]}`,
		`{"op":"add","value":{"emails":[{"value":"new@example.com"}]}}`,
	} {
		t.Run(op, func(t *testing.T) {
			body, err := scim.Decode(fmt.Appendf(nil, `{"schemas":[%q],"Operations":[%s]}`, scim.PatchOpMessage,
				strings.TrimSuffix(strings.Repeat(op+",", 20), ",")))
			require.NoError(t, err)
			req, err := scim.ParsePatchRequest(body)
			require.NoError(t, err)
			accept := Options{Accept: lenient.All}
			_, _, err = Apply(user, req, schema.UserType(), accept)
			require.NoError(t, err)

			limited := accept
			limited.MaxWork = 10_000
			_, _, err = Apply(user, req, schema.UserType(), limited)
			var refused *scim.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, 413, refused.Status)

			interrupted, calls := accept, 0
			interrupted.Interrupt = func() error {
				if calls++; calls > 5 {
					return context.Canceled
				}
				return nil
			}
			_, _, err = Apply(user, req, schema.UserType(), interrupted)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, 6, calls)
		})
	}
}
