package scimstore

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scimserver"
)

// TestReadMember compares the members in texts of memberships with those that encoding/json decodes.
func TestReadMember(t *testing.T) {
	check := func(t require.TestingT, doc string) {
		var want membership
		require.NoError(t, json.Unmarshal([]byte(doc), &want), doc)
		got := scimserver.Member{ID: "previous", Type: "previous", Display: "previous"}
		require.NoError(t, readMember(doc, &got), doc)
		require.Equal(t, scimserver.Member{ID: want.Member, Type: want.Type, Display: want.Display}, got, doc)
	}
	for _, doc := range []string{
		`{}`,
		`{"group":"g","member":"m","type":"User"}`,
		`{"group":"g","member":"m","type":"User","display":""}`,
		`{"group":"g","member":"m","type":"User","display":"d","new":"n"}`,
		`{"group":"g","member":"m","type":"User","new":{"display":"x"}}`,
		`{"group":"g","member":"m","display":"d","type":"Group"}`,
		`{"group":"g","type":"User","member":"m"}`,
		`{ "group": "g", "member": "m", "type": "User", "display": "d" }`,
		`{"group":"\",\"member\":\"x","member":"m","type":"User"}`,
		`{"group":"g","member":"m","type":"User","display":"a\"}"}`,
		`{"group":"g\\","member":"m\\","type":"User"}`,
	} {
		check(t, doc)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[a-z",:{}\\é<\x00 ]{0,6}`), rapid.String())
		doc, err := json.Marshal(membership{text.Draw(t, "group"), text.Draw(t, "member"), text.Draw(t, "type"), text.Draw(t, "display")})
		require.NoError(t, err)
		check(t, string(doc))
	})
}
