package scimserver_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// ownTokens accepts every token "Type/id" as that of the resource; "reader Type/id" is read-only.
type ownTokens struct{}

func (ownTokens) VerifyToken(_ context.Context, text string) (scimserver.Grant, error) {
	text, reader := strings.CutPrefix(text, "reader ")
	kind, id, ok := strings.Cut(text, "/")
	if text == token {
		return scimserver.Grant{}, nil
	}
	if !ok {
		return scimserver.Grant{}, scimserver.ErrBadToken
	}
	return scimserver.Grant{ReadOnly: reader, Subject: scimserver.Subject{Type: kind, ID: id}}, nil
}

func as(text string) func(*http.Request) { return header("Authorization", "Bearer "+text) }

func TestMe_ReturnsTokenResource(t *testing.T) {
	run := func(t *testing.T, h *harness) {
		ann, bob := h.newUser(t, "ann"), h.newUser(t, "bob")
		team := h.newGroup(t, "team", ann.id())
		own := as("User/" + ann.id())
		location := h.url + "/Users/" + ann.id()

		t.Run("read", func(t *testing.T) {
			me := h.do(t, http.MethodGet, "/Me", nil, own).want(t, http.StatusOK)
			require.Equal(t, h.get(t, "/Users/"+ann.id()).text, me.text)
			require.Equal(t, location, me.header.Get("Location"))
			short := h.do(t, http.MethodGet, "/Me?attributes=userName", nil, own).want(t, http.StatusOK)
			require.Equal(t, "null", short.json("groups"))
			h.do(t, http.MethodGet, "/Me", nil, own, header("If-None-Match", me.header.Get("ETag"))).want(t, http.StatusNotModified)
			require.Equal(t, `"team"`, h.do(t, http.MethodGet, "/Me", nil, as("Group/"+team.id())).want(t, http.StatusOK).json("displayName"))
		})
		t.Run("changed", func(t *testing.T) {
			a := h.do(t, http.MethodPatch, "/Me", patchOf(op("add", "nickName", "An")), own).want(t, http.StatusOK)
			require.Equal(t, `"An"`, a.json("nickName"))
			require.Equal(t, location, a.header.Get("Location"))
			a = h.do(t, http.MethodPut, "/Me", user("anna"), own).want(t, http.StatusOK)
			require.Equal(t, location, a.header.Get("Location"))
			require.Equal(t, `"anna"`, h.get(t, "/Users/"+ann.id()).json("userName"))
			h.do(t, http.MethodPut, "/Me", user("x"), own, header("If-Match", `W/"99"`)).wantError(t, http.StatusPreconditionFailed, "")
			h.do(t, http.MethodPut, "/Me", user("BOB"), own).wantError(t, http.StatusConflict, scim.Uniqueness)
		})
		t.Run("not changed with a read-only token", func(t *testing.T) {
			reader := as("reader User/" + bob.id())
			h.do(t, http.MethodGet, "/Me", nil, reader).want(t, http.StatusOK)
			for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodPost} {
				h.do(t, method, "/Me", user("x"), reader).wantError(t, http.StatusForbidden, "")
			}
		})
		t.Run("not created", func(t *testing.T) {
			h.do(t, http.MethodPost, "/Me", user("carl"), own).wantError(t, http.StatusNotImplemented, "")
		})
		t.Run("deleted, and then not found", func(t *testing.T) {
			h.do(t, http.MethodDelete, "/Me", nil, own).want(t, http.StatusNoContent)
			h.do(t, http.MethodGet, "/Users/"+ann.id(), nil).wantError(t, http.StatusNotFound, "")
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				h.do(t, method, "/Me", patchOf(op("remove", "nickName")), own).wantError(t, http.StatusNotFound, "")
			}
		})
		t.Run("not available for a token without resource", func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				h.do(t, method, "/Me", user("x")).wantError(t, http.StatusNotImplemented, "")
			}
			h.do(t, http.MethodGet, "/Me", nil, as("Printer/1")).wantError(t, http.StatusNotFound, "")
			h.do(t, http.MethodGet, "/Me", nil, as("User/")).wantError(t, http.StatusNotFound, "")
		})
	}
	own := func(o *scimserver.Options) { o.Tokens = ownTokens{} }
	eachStore(t, run, own)
	t.Run("postgres", func(t *testing.T) { run(t, serve(t, storeOn(t, sqldbtest.Postgres(t)), own)) })
}
