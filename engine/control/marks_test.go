package control_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/scim"
)

// A mark over HTTP provisions a user of an app that the engine has not had before.
func TestMark_ProvisionsUser(t *testing.T) {
	h := serve(t)
	ann := &scim.Resource{}
	ann.Set("userName", "ann")
	h.directory.SetUser("crm", "u-1", engine.UserState{Want: engine.Active, UserName: "ann", Resource: ann})
	n, err := h.Mark(t.Context(), "crm", []engine.Mark{
		{Kind: engine.User, ID: "u-1"}, {Kind: engine.Group, ID: "g-1", Members: []string{"u-1"}},
	})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = h.Wait(t.Context(), "crm", client.WaitOptions{})
	require.NoError(t, err)
	require.Len(t, h.target.Users(), 1)
	_, err = h.Mark(t.Context(), "unknown", []engine.Mark{{Kind: engine.User, ID: "u-1"}})
	require.True(t, client.IsNotFound(err), err)
}

func TestMark_InvalidRejected(t *testing.T) {
	h := serve(t)
	many := make([]string, 6000)
	for i := range many {
		many[i] = fmt.Sprintf("%q", fmt.Sprint("u-", i))
	}
	group := `{"kind":"group","id":"g","members":[` + strings.Join(many, ",") + `]}`
	for name, body := range map[string]string{
		"empty": `{}`, "no marks": `{"marks":[]}`, "kind": `{"marks":[{"kind":"x","id":"a"}]}`, "id": `{"marks":[{"kind":"user"}]}`,
		"long id": `{"marks":[{"kind":"user","id":"` + strings.Repeat("a", 257) + `"}]}`, "type": `{"marks":{"kind":"user"}}`,
		"members":      `{"marks":[{"kind":"user","id":"a","members":["b"]}]}`,
		"all members":  `{"marks":[{"kind":"user","id":"a","allMembers":true}]}`,
		"many members": `{"marks":[` + group + `,` + group + `]}`,
		"half valid":   `{"marks":[{"kind":"user","id":"a"},{"kind":"user","id":""}]}`,
	} {
		err := h.Do(t.Context(), http.MethodPost, "/apps/crm/marks", json.RawMessage(body), nil)
		rejected, ok := errors.AsType[*client.Error](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, http.StatusBadRequest, rejected.Status, name)
	}
	pending, err := h.options.Engine.Apps().Pending(t.Context())
	require.NoError(t, err)
	require.Zero(t, pending, "nothing was marked")
}
