package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// The members of an HTTP archive 1.2 that the suite writes.
type (
	harLog struct {
		Version string     `json:"version"`
		Creator harCreator `json:"creator"`
		Comment string     `json:"comment,omitempty"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started  time.Time   `json:"startedDateTime"`
		Time     float64     `json:"time"` // milliseconds
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Comment  string      `json:"comment,omitempty"`
		Check    string      `json:"_check,omitempty"` // the check that sent it
	}
	harRequest struct {
		Method      string    `json:"method"`
		URL         string    `json:"url"`
		HTTPVersion string    `json:"httpVersion"`
		Cookies     []harPair `json:"cookies"`
		Headers     []harPair `json:"headers"`
		Query       []harPair `json:"queryString"`
		Post        *harPost  `json:"postData,omitempty"`
		HeadersSize int       `json:"headersSize"`
		BodySize    int       `json:"bodySize"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"`
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harPost struct {
		MimeType string    `json:"mimeType"`
		Params   []harPair `json:"params"`
		Text     string    `json:"text"`
	}
	harContent struct {
		Size     int    `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

// unknown is the value of HAR for unknown sizes: bodies are redacted excerpts.
const unknown = -1

// HAR writes the exchanges of the run as an HTTP archive 1.2. Without [conformance.Options].Record it contains those that show a finding.
func HAR(w io.Writer, r *conformance.Result, version string) error {
	head, err := json.Marshal(
		harLog{Version: "1.2", Creator: harCreator{Name: "scim-conformance", Version: version}, Comment: "Run " + r.Run + " against " + r.Target})
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "{\"log\": %s, \"entries\": [", bytes.TrimSuffix(head, []byte("}")))
	for i, sent := range traffic(r) {
		if i > 0 {
			fmt.Fprint(b, ",")
		}
		// Each entry is encoded separately, on a line of its own, because the archive of a whole run is large.
		fmt.Fprintln(b)
		encoder := json.NewEncoder(b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(harEntryOf(sent)); err != nil {
			return err
		}
	}
	fmt.Fprintln(b, "]}}")
	return b.Flush()
}

// traffic returns the recorded exchanges of the run, or else the evidence of its findings, each exchange once.
func traffic(r *conformance.Result) []conformance.Sent {
	if len(r.Traffic) > 0 {
		return r.Traffic
	}
	var out []conformance.Sent
	for c := range r.All() {
		for _, f := range c.Findings {
			sent := conformance.Sent{Check: c.Check.ID, Exchange: f.Exchange}
			if f.Exchange != nil && !slices.Contains(out, sent) {
				out = append(out, sent)
			}
		}
	}
	return out
}

func harEntryOf(sent conformance.Sent) harEntry {
	e := sent.Exchange
	ms := float64(e.Duration) / float64(time.Millisecond)
	entry := harEntry{
		Started: e.At.UTC(), Time: ms, Timings: harTimings{Wait: ms}, Comment: e.Err, Check: sent.Check,
		Request: harRequest{
			Method: e.Method, URL: e.URL, HTTPVersion: "HTTP/1.1", Cookies: []harPair{}, Headers: harHeaders(e.RequestHeader),
			Query:       harQuery(e.URL),
			HeadersSize: unknown, BodySize: unknown,
		},
		Response: harResponse{
			Status: e.Status, StatusText: http.StatusText(e.Status), HTTPVersion: "HTTP/1.1", Cookies: []harPair{},
			Headers:     harHeaders(e.ResponseHeader),
			Content:     harContent{Size: len(e.ResponseBody), MimeType: e.ResponseHeader.Get("Content-Type"), Text: e.ResponseBody},
			RedirectURL: e.ResponseHeader.Get("Location"), HeadersSize: unknown, BodySize: unknown,
		},
	}
	if e.RequestBody != "" {
		entry.Request.Post = &harPost{MimeType: e.RequestHeader.Get("Content-Type"), Params: []harPair{}, Text: e.RequestBody}
	}
	return entry
}

func harHeaders(h http.Header) []harPair {
	out := []harPair{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out = append(out, harPair{name, v})
		}
	}
	return out
}

func harQuery(address string) []harPair {
	out := []harPair{}
	u, err := url.Parse(address)
	if err != nil {
		return out
	}
	query := u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, v := range query[name] {
			out = append(out, harPair{name, v})
		}
	}
	return out
}

// evidence maps each check to its exchanges, for the reports that show them.
func evidence(r *conformance.Result) map[string][]*wirelog.Exchange {
	out := map[string][]*wirelog.Exchange{}
	for _, sent := range r.Traffic {
		out[sent.Check] = append(out[sent.Check], sent.Exchange)
	}
	return out
}
