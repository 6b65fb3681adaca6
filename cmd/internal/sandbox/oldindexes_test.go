package sandbox_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// The indexes of a database contain values as computed by the version that wrote them. A version that computes them differently rebuilds
// the indexes.
func TestServeSCIM_RebuildsOldIndexes(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "scim.db") },
		"postgres": func(t *testing.T) string { return sqldbtest.PostgresURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			databaseURL := database(t)
			// serving runs the server once and returns its log lines about indexes.
			serving := func(use func(c *tenant)) (logged []string) {
				var log bytes.Buffer
				s, err := sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{
					Listen: "127.0.0.1:0", DB: databaseURL, Tokens: []string{scimToken}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				require.NoError(t, err)
				use(&tenant{base: s.URL(), token: scimToken})
				require.NoError(t, s.Close(context.WithoutCancel(t.Context())))
				for line := range strings.Lines(log.String()) {
					if strings.Contains(line, "indexes filled") {
						logged = append(logged, line)
					}
				}
				return logged
			}
			lookups := func(c *tenant) {
				for _, filter := range []string{`userName+eq+"ANN"`, `userName+sw+"an"`, `externalId+eq+"E-1"`, `emails.value+eq+"ANN@example.com"`} {
					found := c.send(t, http.MethodGet, "/Users?filter="+strings.ReplaceAll(filter, `"`, "%22"), "")
					require.Equal(t, http.StatusOK, found.status, found.text)
					require.Contains(t, found.text, `"totalResults":1`, filter)
				}
				require.Equal(t, http.StatusConflict, c.send(t, http.MethodPost, "/Users", userBody("Ann")).status, "names are unique")
			}
			require.Empty(t, serving(func(c *tenant) {
				c.send(t, http.MethodPost, "/Users", userBody("ann", `"externalId":"E-1"`, `"emails":[{"value":"ann@example.com"}]`)).id(t)
				lookups(c)
			}), "all indexes are up to date")

			// Change the indexes to those of an older version, which compared strings exactly and had no index for externalId.
			db, err := sqlopen.Open(t.Context(), databaseURL, sqlopen.Options{})
			require.NoError(t, err)
			require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
				for _, statement := range []string{
					`UPDATE docstore_indexes SET version = version - 1 WHERE collection = 'scim_type_user'`,
					`UPDATE scim_type_user SET "k_userName" = '=ann'`,
					`UPDATE "scim_type_user__emails_value" SET k = '=ann@example.com'`,
					`DROP INDEX "scim_type_user__externalId__k"`,
					`ALTER TABLE scim_type_user DROP COLUMN "k_externalId"`,
					`DELETE FROM docstore_indexes WHERE collection = 'scim_type_user' AND name = 'externalId'`,
				} {
					if _, err := tx.Exec(t.Context(), statement); err != nil {
						return err
					}
				}
				return nil
			}))
			require.NoError(t, db.Close())

			logged := serving(lookups)
			require.Len(t, logged, 1)
			for _, part := range []string{"level=INFO", "collection=scim_type_user", "documents=1", "userName", "externalId", "emails_value"} {
				require.Contains(t, logged[0], part)
			}
			require.Empty(t, serving(lookups), "indexes are rebuilt once")
		})
	}
}
