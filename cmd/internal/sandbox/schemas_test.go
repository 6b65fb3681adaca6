package sandbox_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// The server accepts the documents in docs/howto/custom-schemas.md.
func TestSchemas_DocumentedExamplesServed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "howto", "custom-schemas.md"))
	require.NoError(t, err)
	dir := t.TempDir()
	documents := strings.Split(string(page), "```json\n")[1:]
	require.Len(t, documents, 3)
	for i, text := range documents {
		text, _, _ = strings.Cut(text, "```")
		require.NoError(t, os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".json"), []byte(text), 0o600))
	}
	s, err := sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{Listen: "127.0.0.1:0", Schemas: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	post := func(body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/Devices", strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+s.Token())
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	const device = `{"schemas":["urn:example:schemas:Device","urn:example:schemas:Asset"],"serial":"s1",` +
		`"urn:example:schemas:Asset":{"number":"1"}}`
	require.Equal(t, http.StatusCreated, post(device))
	require.Equal(t, http.StatusConflict, post(strings.Replace(device, "s1", "s2", 1)), "the number is unique")
	require.Equal(t, http.StatusBadRequest, post(`{"schemas":["urn:example:schemas:Device"],"serial":"s3"}`), "the extension is required")
}

func TestSchemas_UnreadableRejectedAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.json"), []byte("{"), 0o600))
	for dir, want := range map[string]string{dir: "broken.json", filepath.Join(dir, "missing"): "missing"} {
		_, err := sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{Listen: "127.0.0.1:0", Schemas: dir})
		require.ErrorContains(t, err, want)
	}
}
