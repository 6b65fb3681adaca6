package provision_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
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
		way     time.Duration
		want    string
	}{
		"no stall":                               {want: staleSent},
		"response before, no stall":              {before: search, want: staleSent},
		"stall on the way":                       {before: search, way: 2 * wireTime, want: staleStall},
		"stall between check and request":        {before: search, stall: true, want: staleStall},
		"response during the stall, no check":    {before: search, delayed: true, stall: true, want: staleSent},
		"first request of a sequence, and stall": {stall: true, want: staleStall},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleetTarget()
			send := func(process, method, url, body string, epoch int, sent, stall time.Time) {
				r := httptest.NewRequest(method, url, strings.NewReader(body))
				r.Header.Set(processHeader, process)
				r.Header.Set(epochHeader, strconv.Itoa(epoch))
				r.Header.Set(sentHeader, strconv.FormatInt(sent.UnixNano(), 10))
				if !stall.IsZero() {
					r.Header.Set(stallHeader, strconv.FormatInt(stall.UnixNano(), 10))
				}
				f.ServeHTTP(httptest.NewRecorder(), r)
			}
			begun := time.Now()
			if c.before != "" {
				send("old", http.MethodGet, c.before, "", 1, time.Now(), time.Time{})
			}
			stall := time.Now()
			if c.delayed {
				stall = begun
			}
			if !c.stall {
				stall = time.Time{}
			}
			send("new", http.MethodGet, search, "", 2, time.Now(), time.Time{})
			send("old", http.MethodPost, "/app/Users", create, 1, time.Now().Add(-c.way), stall)
			counts, _ := f.counts()
			require.Equal(t, 1, counts[c.want], counts)
			require.Zero(t, counts[map[string]string{staleSent: staleStall, staleStall: staleSent}[c.want]])
		})
	}
}
