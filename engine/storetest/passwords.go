package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

func testPasswords(t *testing.T, s *suite) {
	s.mark(engine.Mark{ID: "a"}, engine.Mark{ID: "b"})
	l := s.claim()
	version := func(id string) string { return s.state(engine.User, id).PasswordVersion }
	s.finish(l, store.Finish{ID: "a", RemoteID: "r1", PasswordVersion: "7"})
	require.Equal(t, "7", version("a"))
	s.finish(l, store.Finish{ID: "a", PasswordVersion: "8"})
	require.Empty(t, version("a"), "no account, no version")
	s.finish(l, store.Finish{ID: "a", RemoteID: "r1", PasswordVersion: "9"})

	intents := []store.Intent{{Kind: engine.User, ID: "a", Want: engine.Inactive}, {Kind: engine.User, ID: "b", Want: engine.Active}}
	require.NoError(t, s.store.Begin(t.Context(), l, intents))
	s.finish(l, store.Finish{ID: "b", RemoteID: "r1", PasswordVersion: "1"})
	require.Equal(t, []string{"", "1"}, []string{version("a"), version("b")}, "the account belongs to another user now")
}
