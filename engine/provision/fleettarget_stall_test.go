package provision_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFleetTarget_Stall checks which requests of an old epoch the target takes for those of a correct process: only those that may have
// been checked before a stall.
func TestFleetTarget_Stall(t *testing.T) {
	const search, create = "/app/Users?filter=userName%20eq%20%22ann%22", `{"userName":"ann"}`
	for name, c := range map[string]struct {
		before  string // a request of the old epoch before the stall, or empty
		delayed bool   // the response of that request is sent during the stall
		stall   bool
		way     time.Duration // since the request was sent
		body    time.Duration // between the header and the body
		want    string
	}{
		"no stall":                               {want: staleSent},
		"response before, no stall":              {before: search, want: staleSent},
		"stall on the way":                       {before: search, way: 2 * wireTime, want: staleStall},
		"stall between header and body":          {before: search, body: 2 * wireTime, want: staleStall},
		"stall between check and request":        {before: search, stall: true, want: staleStall},
		"response during the stall, no check":    {before: search, delayed: true, stall: true, want: staleSent},
		"first request of a sequence, and stall": {stall: true, want: staleStall},
	} {
		test := func(t *testing.T) {
			f := newFleetTarget()
			send := func(process, method, url string, body io.Reader, epoch int, sent, stall, stallEnd time.Time) {
				r := httptest.NewRequest(method, url, body)
				r.Header.Set(processHeader, process)
				r.Header.Set(epochHeader, strconv.Itoa(epoch))
				r.Header.Set(sentHeader, strconv.FormatInt(sent.UnixNano(), 10))
				r.Header.Set(stallHeader, strconv.FormatInt(stall.UnixNano(), 10))
				r.Header.Set(stallEndHeader, strconv.FormatInt(stallEnd.UnixNano(), 10))
				f.ServeHTTP(httptest.NewRecorder(), r)
			}
			begun := time.Now()
			earlier := begun.Add(-2 * wireTime)
			if c.before != "" {
				send("old", http.MethodGet, c.before, nil, 1, begun, earlier, earlier)
			}
			time.Sleep(time.Millisecond)
			stall := time.Now()
			if c.delayed {
				stall = begun
			}
			now := time.Now()
			end := now
			if !c.stall {
				stall, end = earlier, earlier
			}
			send("new", http.MethodGet, search, nil, 2, now, earlier, earlier)
			send("old", http.MethodPost, "/app/Users", slowBody{strings.NewReader(create), c.body}, 1, now.Add(-c.way), stall, end)
			counts, _ := f.counts()
			require.Equal(t, 1, counts[c.want], counts)
			require.Zero(t, counts[map[string]string{staleSent: staleStall, staleStall: staleSent}[c.want]])
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// slowBody is a body that waits before each read.
type slowBody struct {
	io.Reader
	wait time.Duration
}

func (b slowBody) Read(p []byte) (int, error) {
	time.Sleep(b.wait)
	return b.Reader.Read(p)
}
