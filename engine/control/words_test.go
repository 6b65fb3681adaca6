package control

import (
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWords_DescribeEveryMember checks that the table of words has exactly the members of the served types. The number of members without a
// description must not grow.
func TestWords_DescribeEveryMember(t *testing.T) {
	undescribed := 0
	for typ, word := range words() {
		members := map[string]bool{}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" || name == "-" {
				continue
			}
			require.NotEmpty(t, name, "%s.%s has no name in JSON", typ, f.Name)
			members[name] = true
			tags, described := word.Members[name]
			assert.True(t, described, "%s: describe the member %s", typ, name)
			if tags.Get("doc") == "" {
				undescribed++
			}
		}
		for name := range word.Members {
			require.True(t, members[name], "%s has no member %s", typ, name)
		}
	}
	require.LessOrEqual(t, undescribed, 155, "give new members a doc tag in the words next to their row")
}

// TestWords_CoverServedTypes checks that every served type is in the table, or that its members have doc tags.
func TestWords_CoverServedTypes(t *testing.T) {
	text, err := OpenAPI(Options{})
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	inTable := map[string]bool{}
	for typ, word := range words() {
		name := word.Name
		if name == "" {
			name = typ.Name()
		}
		inTable[name] = true
		if typ.Kind() == reflect.Struct && !embedded[name] {
			require.Contains(t, doc.Components.Schemas, name, "%s is described and not served", typ)
		}
	}
	for name, schema := range doc.Components.Schemas {
		for member, property := range schema.Value.Properties {
			described := inTable[name] || property.Value.Description != "" || property.Ref != ""
			assert.True(t, described, "%s.%s has no description: add the type to the words next to its row, or a doc tag to the field", name, member)
		}
	}
}

// embedded names the types in words that no operation returns directly: they are only embedded in other types.
var embedded = map[string]bool{"DriftCounts": true}
