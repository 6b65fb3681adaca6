package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// TestJournal_CaseInsensitiveAttributeNames checks that the journal announces a name whose attribute is sent in another case: the target
// may accept it.
func TestJournal_CaseInsensitiveAttributeNames(t *testing.T) {
	_, target := newShelf(t)
	journal := filepath.Join(t.TempDir(), "run.journal")
	var announced []byte
	runChecks(t, target,
		conformance.Options{Journal: journal, Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
			t.Post(ctx, "/Users", conformance.Doc{"USERNAME": t.UserName("loud")})
			announced, _ = os.ReadFile(journal)
		})}})
	require.Regexp(t, `"op":"intent".*"name":"scimconf-[a-z0-9]+-1-loud@example.com"`, string(announced))
}

func TestReadOnly_WritesNoJournal(t *testing.T) {
	_, target := newShelf(t)
	journal := filepath.Join(t.TempDir(), "run.journal")
	runChecks(t, target,
		conformance.Options{ReadOnly: true, Settle: time.Second, Journal: journal,
			Checks: []conformance.Check{one("x.y", nil, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") })}})
	require.NoFileExists(t, journal)
}
