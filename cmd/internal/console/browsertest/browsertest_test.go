package browsertest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A browser that ends before its first page is started again, with the same emulation.
func TestBrowser_StartsAgain(t *testing.T) {
	b := Start(t)
	b.Size(500, 400)
	b.killed(t)
	b.Open("data:text/html,<p>hello")
	require.InDelta(t, 500, b.Eval("innerWidth"), 0)
	b.killed(t)
	require.ErrorIs(t, b.open("data:text/html,<p>again"), errEnded, "a page that was open is lost")
}

func (b *Browser) killed(t *testing.T) {
	require.NoError(t, b.cmd.Process.Kill())
	<-b.ended
}
