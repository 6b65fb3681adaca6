package docstore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// crashURL is the environment variable with the URL of the database that the child process of TestKilledProcess_LosesNothing writes to.
const crashURL = "DOCSTORE_TEST_CRASH_URL"

// note is the document of the crash test.
type note struct {
	Text string `json:"text"`
}

func crashCollections() (written, relayed docstore.Collection[note]) {
	index := docstore.Index[note]{Name: "text", Multi: true, Values: func(n *note) []any { return []any{n.Text} }}
	return docstore.NewCollection("written", index), docstore.NewCollection("relayed", index)
}

// TestKilledProcess_LosesNothing kills (SIGKILL) a process that writes documents with one event each, acknowledges them on standard output,
// and relays the events into a second collection. Afterwards every acknowledged document is stored. For every document, either its event is
// still in the outbox or it was relayed, never both and never neither.
func TestKilledProcess_LosesNothing(t *testing.T) {
	const acknowledged = 500
	for name, url := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "crash.db") },
		"postgres": func(t *testing.T) string { return sqldbtest.PostgresURL(t, sqldbtest.Durable) },
	} {
		t.Run(name, func(t *testing.T) {
			url := url(t)
			self, err := os.Executable()
			require.NoError(t, err)
			child := exec.Command(self, "-test.run=^TestCrashChild$")
			child.Env = append(os.Environ(), crashURL+"="+url)
			out, err := child.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, child.Start())
			var ids []string
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				if ids = append(ids, lines.Text()); len(ids) == acknowledged {
					require.NoError(t, child.Process.Kill())
				}
			}
			require.ErrorContains(t, child.Wait(), "killed")
			require.GreaterOrEqual(t, len(ids), acknowledged)

			db, err := sqlopen.Open(t.Context(), url, sqlopen.Options{})
			require.NoError(t, err)
			defer db.Close()
			written, relayed := crashCollections()
			store, err := docstore.Open(t.Context(), db, nil, written, relayed)
			require.NoError(t, err)
			docs, err := written.GetMany(t.Context(), store.Reader(), ids)
			require.NoError(t, err)
			require.Len(t, docs, len(ids), "acknowledged documents are missing")

			isPending := map[string]bool{}
			_, err = store.Relay(t.Context(), 1_000_000, func(_ *docstore.Tx, events []docstore.Event) error {
				for _, e := range events {
					require.False(t, isPending[e.Key], "the event of %s exists twice", e.Key)
					isPending[e.Key] = true
				}
				return nil
			})
			require.NoError(t, err)
			all, err := written.Query(t.Context(), store.Reader(), docstore.Query[note]{Limit: 1_000_000})
			require.NoError(t, err)
			done, err := relayed.Query(t.Context(), store.Reader(), docstore.Query[note]{Limit: 1_000_000})
			require.NoError(t, err)
			isDone := map[string]bool{}
			for _, doc := range done.Docs {
				isDone[doc.ID] = true
			}
			for _, doc := range all.Docs {
				require.NotEqual(t, isPending[doc.ID], isDone[doc.ID], "document %s: event both in the outbox and relayed, or neither", doc.ID)
				n, err := written.Count(t.Context(), store.Reader(), docstore.Eq("text", doc.Value.Text))
				require.NoError(t, err)
				require.Equal(t, 1, n, "index value of %s", doc.ID)
			}
			require.Len(t, all.Docs, len(isPending)+len(isDone))
			require.NotEmpty(t, isDone, "no event was relayed before the kill")
			t.Logf("%d acknowledged, %d written, %d relayed, %d pending", len(ids), len(all.Docs), len(isDone), len(isPending))
		})
	}
}

// TestCrashChild is the child process of TestKilledProcess_LosesNothing. It writes documents until the parent process kills it.
func TestCrashChild(t *testing.T) {
	url := os.Getenv(crashURL)
	if url == "" {
		return // runs only as a child of TestKilledProcess_LosesNothing
	}
	ctx := context.Background()
	db, err := sqlopen.Open(ctx, url, sqlopen.Options{})
	require.NoError(t, err)
	written, relayed := crashCollections()
	store, err := docstore.Open(ctx, db, nil, written, relayed)
	require.NoError(t, err)
	failed := make(chan error)
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d", w, i)
				err := store.Update(ctx, func(tx *docstore.Tx) error {
					if _, err := written.Insert(ctx, tx, id, note{Text: id}); err != nil {
						return err
					}
					return store.Emit(ctx, tx, docstore.Event{Topic: "written", Key: id})
				})
				if err != nil {
					failed <- err
				}
				fmt.Println(id)
			}
		}()
	}
	wake := make(chan struct{}, 1)
	store.OnEmit(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	go func() {
		for range wake {
			_, err := store.Relay(ctx, 10, func(tx *docstore.Tx, events []docstore.Event) error {
				for _, e := range events {
					if _, err := relayed.Insert(ctx, tx, e.Key, note{Text: e.Key}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				failed <- err
			}
		}
	}()
	require.NoError(t, <-failed)
}
