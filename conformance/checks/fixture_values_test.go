package checks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

func TestSentValues_NamesDifferingObjects(t *testing.T) {
	fixture := map[string]*conformance.Created{
		"ada": {Sent: doc{"nickName": "N1", "title": "T1"}},
		"bob": {Sent: doc{"title": "T2"}},
		"cyd": {Sent: doc{"nickName": "N3"}},
	}
	check := &T{Fixture: fixture}
	filter := `userName sw "x" and (nickName co "title" or urn:x:2.0:User:other pr)`
	differs := differing([]string{"ada", "cyd"}, []string{"bob", "cyd"})
	require.Equal(t, []string{"ada", "bob"}, differs)
	require.Equal(t, ` (created: ada with nickName "N1", bob without nickName)`, sentValues(check, filterAttributes(filter), differs...))
	require.Empty(t, sentValues(check, []string{"and"}, "ada"), "not an attribute of the fixture")
	require.Empty(t, sentValues(check, []string{"title"}, "eve"), "not an object of the fixture")
}
