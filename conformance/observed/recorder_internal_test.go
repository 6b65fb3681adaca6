package observed

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// once is a body that may not be read again after its end, as the bodies of net/http after the start of the response.
type once struct {
	io.Reader
	over bool
}

func (o *once) Read(b []byte) (int, error) {
	if o.over {
		return 0, errors.New("read after the end")
	}
	n, err := o.Reader.Read(b)
	o.over = errors.Is(err, io.EOF)
	return n, err
}

func (o *once) Close() error { return nil }

func TestTee_StopsAtEOF(t *testing.T) {
	p := &passage{r: &Recorder{opts: Options{MaxBody: 100}}}
	body := &tee{src: &once{Reader: strings.NewReader("hello")}, p: p, into: &p.c.request, size: &p.c.requestSize}
	text, err := io.ReadAll(body)
	require.NoError(t, err)
	require.Equal(t, "hello", string(text))
	n, err := body.Read(make([]byte, 1))
	require.Zero(t, n)
	require.ErrorIs(t, err, io.EOF, "a transport reads once more")
}
