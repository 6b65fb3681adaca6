package scim

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func objects() cmp.Option {
	return cmp.Comparer(func(a, b *Object) bool { return Equal(a, b) })
}

// roundTrip writes a message, compares its JSON, and reads it back.
func roundTrip[T any](t *testing.T, v T, text string) {
	t.Helper()
	got, err := json.Marshal(v)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	var again T
	require.NoError(t, json.Unmarshal(got, &again))
	require.Empty(t, cmp.Diff(v, again, objects(), cmp.Comparer(func(a, b *Resource) bool { return Equal(&a.Object, &b.Object) })))
}

func TestMessage_RoundTrip(t *testing.T) {
	two, empty := 2, ""
	roundTrip(t, Error{Status: 404, Detail: "no"}, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"detail":"no","status":"404"}`)
	roundTrip(t, Error{Status: 400, ScimType: InvalidFilter},
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"scimType":"invalidFilter","status":"400"}`)
	roundTrip(t, ListResponse{TotalResults: 0, Resources: []*Resource{}},
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"itemsPerPage":0,"Resources":[]}`)
	roundTrip(t, ListResponse{TotalResults: 7, StartIndex: 2, ItemsPerPage: 1, Resources: []*Resource{{*NewObject(Member{"id", "1"})}}},
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":7,"startIndex":2,"itemsPerPage":1,`+
			`"Resources":[{"id":"1"}]}`)
	roundTrip(t, ListResponse{TotalResults: -1, ItemsPerPage: 0, NextCursor: "n", PreviousCursor: "p", Resources: []*Resource{}},
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"itemsPerPage":0,"nextCursor":"n","previousCursor":"p",`+
			`"Resources":[]}`)
	roundTrip(t,
		SearchRequest{Attributes: []string{"a"}, ExcludedAttributes: []string{"b"}, Filter: "c pr", SortBy: "d", SortOrder: "descending",
			StartIndex: &two, Count: &two, Cursor: &empty},
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],"attributes":["a"],"excludedAttributes":["b"],"filter":"c pr",`+
			`"sortBy":"d","sortOrder":"descending","startIndex":2,"count":2,"cursor":""}`)
	roundTrip(t, SearchRequest{}, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:SearchRequest"]}`)
	roundTrip(t,
		PatchRequest{
			Operations: []PatchOperation{{Op: "Add", Path: "a", Value: []any{NewObject(Member{"value", "x"})}, HasValue: true},
				{Op: "remove", Path: "b"}, {Op: "replace", Path: "c", HasValue: true}}},
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"Add","path":"a","value":[{"value":"x"}]},`+
			`{"op":"remove","path":"b"},{"op":"replace","path":"c","value":null}]}`)
	roundTrip(t, PatchOperation{Op: "remove", Path: "b"}, `{"op":"remove","path":"b"}`)
	roundTrip(t,
		BulkRequest{FailOnErrors: &two,
			Operations: []BulkOperation{{Method: "POST", BulkID: "q", Path: "/Users", Data: NewObject(Member{"userName", "x"})}}},
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],"failOnErrors":2,"Operations":[{"method":"POST","bulkId":"q",`+
			`"path":"/Users","data":{"userName":"x"}}]}`)
	roundTrip(t,
		BulkResponse{
			Operations: []BulkOperation{
				{Method: "PUT", Version: `W/"1"`, Location: "l", Status: 412, Response: NewObject(Member{"status", "412"})}}},
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:BulkResponse"],"Operations":[{"method":"PUT","version":"W/\"1\"","location":"l",`+
			`"status":"412","response":{"status":"412"}}]}`)
}

// TestError_IntegerStatus checks that the status of an error may be an integer, and that other invalid errors are rejected.
func TestError_IntegerStatus(t *testing.T) {
	var e Error
	require.NoError(t,
		json.Unmarshal([]byte(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":409,"scimType":"uniqueness"}`), &e))
	require.Equal(t, Error{Status: 409, ScimType: Uniqueness}, e)
	for _, bad := range []string{`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"4o9"}`,
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":true}`,
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":99}`, `{"status":"400"}`, `[]`} {
		require.Error(t, json.Unmarshal([]byte(bad), &e), bad)
	}
}

func TestErrorText(t *testing.T) {
	require.EqualError(t, Errorf(400, InvalidPath, "bad %s", "x"), "400 invalidPath: bad x")
	require.EqualError(t, &Error{Status: 404}, "404 Not Found")
	require.EqualError(t, &Error{Status: 400, ScimType: NoTarget}, "400 noTarget")
}

// TestListResponse_RejectsOtherDocuments checks that no other document is read as an empty list.
func TestListResponse_RejectsOtherDocuments(t *testing.T) {
	const urn = `"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"]`
	for _, bad := range []string{
		`{}`, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"404"}`, `{"totalResults":0}`,
		`{` + urn + `,"totalResults":"1"}`, `{` + urn + `,"totalResults":1.5}`, `{` + urn + `,"startIndex":1e99}`,
		`{` + urn + `,"Resources":["x"]}`,
	} {
		var l ListResponse
		require.Error(t, json.Unmarshal([]byte(bad), &l), bad)
	}
	var l ListResponse
	require.NoError(t,
		json.Unmarshal([]byte(`{"Schemas":["URN:ietf:params:scim:api:messages:2.0:ListResponse"],"TOTALRESULTS":1e1,"resources":[{"id":"1"}]}`),
			&l))
	require.Equal(t, 10, l.TotalResults)
	require.Equal(t, "1", l.Resources[0].ID())
}

func TestParsePatchRequest(t *testing.T) {
	const urn = `"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"]`
	for _, test := range []struct {
		name, in string
		want     Type
	}{
		{"no schemas", `{"Operations":[{"op":"add"}]}`, InvalidSyntax},
		{"another message", `{"schemas":["` + SearchRequestMessage + `"],"Operations":[{"op":"add"}]}`, InvalidSyntax},
		{"no operations", `{` + urn + `}`, InvalidSyntax},
		{"an empty list", `{` + urn + `,"Operations":[]}`, InvalidSyntax},
		{"an object for the list", `{` + urn + `,"Operations":{"op":"add"}}`, InvalidSyntax},
		{"a string for an operation", `{` + urn + `,"Operations":["add"]}`, InvalidSyntax},
		{"no op", `{` + urn + `,"Operations":[{"path":"a"}]}`, InvalidSyntax},
		{"op is not a string", `{` + urn + `,"Operations":[{"op":1}]}`, InvalidSyntax},
		{"an unknown op", `{` + urn + `,"Operations":[{"op":"move"}]}`, InvalidValue},
		{"path is not a string", `{` + urn + `,"Operations":[{"op":"add","path":1}]}`, InvalidPath},
		{"an empty path", `{` + urn + `,"Operations":[{"op":"add","path":""}]}`, InvalidPath},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, err := Decode([]byte(test.in))
			require.NoError(t, err)
			_, err = ParsePatchRequest(o)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, test.want, e.ScimType)
			require.Equal(t, 400, e.Status)
		})
	}
	o, err := Decode([]byte(`{` + urn + `,"operations":[{"OP":"REPLACE","Path":null,"VALUE":null,"extra":1}]}`))
	require.NoError(t, err)
	req, err := ParsePatchRequest(o)
	require.NoError(t, err)
	require.Equal(t, []PatchOperation{{Op: "REPLACE", HasValue: true}}, req.Operations)
	require.Error(t, json.Unmarshal([]byte(`{"op":"x"}`), new(PatchOperation)))
}

func TestParseSearchAndBulk_Rejects(t *testing.T) {
	for in, want := range map[string]Type{
		`{}`: InvalidSyntax,
		`{"schemas":["` + SearchRequestMessage + `"],"filter":1}`:          InvalidValue,
		`{"schemas":["` + SearchRequestMessage + `"],"attributes":[1]}`:    InvalidValue,
		`{"schemas":["` + SearchRequestMessage + `"],"count":"1"}`:         InvalidValue,
		`{"schemas":["` + SearchRequestMessage + `"],"startIndex":1.5}`:    InvalidValue,
		`{"schemas":["` + SearchRequestMessage + `"],"cursor":{"a":true}}`: InvalidValue,
	} {
		o, err := Decode([]byte(in))
		require.NoError(t, err)
		_, err = ParseSearchRequest(o)
		var e *Error
		require.ErrorAs(t, err, &e, in)
		require.Equal(t, want, e.ScimType, in)
	}
	for in, want := range map[string]Type{
		`{}`: InvalidSyntax,
		`{"schemas":["` + BulkRequestMessage + `"]}`:                                     InvalidSyntax,
		`{"schemas":["` + BulkRequestMessage + `"],"Operations":[1]}`:                    InvalidSyntax,
		`{"schemas":["` + BulkRequestMessage + `"],"Operations":[{"status":{}}]}`:        InvalidValue,
		`{"schemas":["` + BulkRequestMessage + `"],"Operations":[],"failOnErrors":"no"}`: InvalidValue,
	} {
		o, err := Decode([]byte(in))
		require.NoError(t, err)
		_, err = ParseBulkRequest(o)
		var e *Error
		require.ErrorAs(t, err, &e, in)
		require.Equal(t, want, e.ScimType, in)
	}
}
