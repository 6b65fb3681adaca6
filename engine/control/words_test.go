package control

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every member of a served type is in the table of words, and the table has no other ones. Members without a description are those of the
// beginning: a new one needs a description.
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
			require.True(t, described, "%s: describe the member %s", typ, name)
			if tags.Get("doc") == "" {
				undescribed++
			}
		}
		for name := range word.Members {
			require.True(t, members[name], "%s has no member %s", typ, name)
		}
	}
	require.LessOrEqual(t, undescribed, 155, "describe new members")
}

// A type that is served and is not in the table is reported when the table of operations is compiled.
func TestWords_CoverServedTypes(t *testing.T) {
	_, err := newHandler(Options{})
	require.NoError(t, err)
	doc, err := OpenAPI(Options{})
	require.NoError(t, err)
	for typ, word := range words() {
		name := word.Name
		if name == "" {
			name = typ.Name()
		}
		if typ.Kind() == reflect.Struct && !embedded[name] {
			require.Contains(t, string(doc), `"`+name+`": {`, "%s is described and not served", typ)
		}
	}
}

// embedded are the words that only other words embed.
var embedded = map[string]bool{"DriftCounts": true}
