package main

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scimwright/scimwright/conformance/conformancetest"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/storetest"
)

func open(t *testing.T) (*sql.DB, http.Handler) {
	t.Helper()
	db, handler, err := openApp(t.Context(), filepath.Join(t.TempDir(), "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, handler
}

// TestConformance runs the conformance suite against the application, without a network.
func TestConformance(t *testing.T) {
	_, handler := open(t)
	conformancetest.Run(t, handler, conformancetest.Options{Prefix: "/scim/v2", Token: token})
}

// TestStore runs the tests that every scimserver.Store has to pass.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) scimserver.Store {
		db, _ := open(t)
		return &store{db}
	})
}

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), "", &out); err != nil {
		t.Fatal(err, out.String())
	}
	if !strings.Contains(out.String(), "agree") {
		t.Error(out.String())
	}
}
