package conformance

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// maxWrites is the maximum number of accepted writes that a check keeps.
const maxWrites = 8

// keepWrite keeps an accepted write of a resource.
func (t *T) keepWrite(req Request, res *Response) {
	if res.exchange == nil || !res.OK() || strings.HasSuffix(req.Path, "/.search") ||
		!slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, req.Method) {
		return
	}
	t.writes = append(t.writes, res.exchange)
	if len(t.writes) > maxWrites {
		t.writes = t.writes[1:]
	}
}

// writeBefore returns the last accepted write of the resource that an exchange reads: a PUT or a PATCH of the same URL, or the POST whose
// response contains the id. It returns nil if the exchange is not such a read.
func (t *T) writeBefore(read *wirelog.Exchange) *wirelog.Exchange {
	if read == nil || read.Method != http.MethodGet {
		return nil
	}
	at := withoutQuery(read.URL)
	for _, w := range slices.Backward(t.writes) {
		if w.At.After(read.At) {
			continue
		}
		switch w.Method {
		case http.MethodPost:
			if strings.Contains(w.ResponseBody, `"`+path.Base(at)+`"`) && path.Dir(at) == withoutQuery(w.URL) {
				return w
			}
		default:
			if withoutQuery(w.URL) == at {
				return w
			}
		}
	}
	return nil
}

// withoutQuery returns the path of a URL.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Path
}
