package mgmtapitest_test

import (
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3" // driver "sqlite3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/mgmtapitest"
)

// The store has the options of an embedder, whose tables have a prefix.
func TestOpen_OptionsOfEmbedder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "id.db")
	db, err := sql.Open("sqlite3", "file:"+file+"?_journal_mode=WAL&_busy_timeout=5000&_foreign_keys=on")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	o := mgmtapi.Options{DB: db, Dialect: mgmtapi.SQLite}
	api, err := mgmtapi.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, api.Close()) })
	token := "00" + rand.Text()
	require.NoError(t, api.Setup(t.Context(), mgmtapi.Setup{Token: token}))
	group := mgmtapitest.Open(t, o).AddUsers(3)

	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/groups/"+group+"/users", nil)
	r.Header.Set("Authorization", "SSWS "+token)
	api.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var users []struct{ ID string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &users))
	require.Len(t, users, 3+1, "the users and the administrator")
}
