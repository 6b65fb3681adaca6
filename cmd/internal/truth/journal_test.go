package truth_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/scim"
)

// namesOf maps the collections of the reference server to the attribute with the name.
var namesOf = map[string]string{"/Users": "userName", "/Groups": "displayName", "/Devices": "serial"}

// A witness passes requests to a handler. After each write, before the suite receives the response, it compares the objects of the handler
// with the journal. Even if the process is killed at that time, the journal must cover every object.
type witness struct {
	handler http.Handler
	mu      sync.Mutex      // serializes the requests, of which some are concurrent
	before  map[string]bool // the ids of the initial objects
	path    string
	lines   *bufio.Reader
	open    map[int]journalEntry
	run     string
	lost    []string
	seen    int // the maximum number of objects at a time
}

// A journalEntry is a line of a journal.
type journalEntry struct {
	Run, Op, Collection, Attribute, Name, ID string
	Entry                                    int
}

func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	res, err := inProcess{w.handler}.RoundTrip(r)
	if r.Method != http.MethodGet && r.Method != http.MethodDelete && !strings.HasSuffix(r.URL.Path, "/.search") &&
		(res.StatusCode < 400 || res.StatusCode >= 500) {
		w.compare(r)
	}
	return res, err
}

// compare records the objects that the journal does not cover.
func (w *witness) compare(r *http.Request) {
	w.read()
	seen := 0
	for collection, attribute := range namesOf {
		for _, o := range listed(w.handler, collection, "id,externalId,"+attribute) {
			if w.before[o.Text("id")] {
				continue
			}
			seen++
			found := false
			for _, e := range w.open {
				byID := e.ID != "" && e.ID == o.Text("id")
				byName := e.Name != "" && strings.EqualFold(e.Name, o.Text(e.Attribute))
				found = found || e.Collection == collection && (byID || byName)
			}
			marked := slices.ContainsFunc([]string{o.Text(attribute), o.Text("id"), o.Text("externalId")}, func(text string) bool {
				return strings.HasPrefix(strings.ToLower(text), w.run)
			})
			if !found || !marked {
				w.lost = append(w.lost,
					fmt.Sprintf("after %s %s: %s%s (found %v, marked %v)", r.Method, r.URL.Path, collection, o.AppendJSON(nil), found, marked))
			}
		}
	}
	w.seen = max(w.seen, seen)
}

// read parses the new lines of the journal.
func (w *witness) read() {
	if w.lines == nil {
		file, err := os.Open(w.path)
		if err != nil {
			return // not created yet
		}
		w.lines = bufio.NewReader(file)
	}
	for {
		line, err := w.lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var e journalEntry
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch old := w.open[e.Entry]; e.Op {
		case "":
			w.run = e.Run
		case "gone":
			delete(w.open, e.Entry)
		case "created":
			old.ID = e.ID
			w.open[e.Entry] = old
		default:
			w.open[e.Entry] = e
		}
	}
}

// listed returns all objects of a collection with these attributes.
func listed(h http.Handler, collection, attributes string) []*scim.Object {
	var all []*scim.Object
	for {
		r := httptest.NewRequest(http.MethodGet,
			"/scim/v2"+collection+"?count=200&attributes="+attributes+"&startIndex="+strconv.Itoa(len(all)+1), nil)
		r.Header.Set("Authorization", "Bearer "+referenceToken)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		list, err := scim.Decode(w.Body.Bytes())
		if err != nil || len(list.Array("Resources")) == 0 {
			return all
		}
		for _, item := range list.Array("Resources") {
			all = append(all, item.(*scim.Object))
		}
	}
}

// After each write of a run, its journal (Options.Journal) has an entry for every object that the run has created and not deleted.
func TestJournal_CoversCreatedObjects(t *testing.T) {
	t.Parallel()
	reference := newReferenceServer(t)
	w := &witness{handler: reference, before: map[string]bool{}, path: filepath.Join(t.TempDir(), "run.journal"), open: map[int]journalEntry{}}
	for id := range holdings(reference) {
		w.before[id] = true
	}
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: w}
	r, err := conformance.Run(t.Context(), target, conformance.Options{Checks: checks.All(), Journal: w.path})
	require.NoError(t, err)
	require.Equal(t, conformance.Clean, r.Verdict, r.Reason)
	require.Greater(t, w.seen, 50)
	require.Empty(t, w.lost)
}

// holdings returns the names of all objects of a handler by id.
func holdings(h http.Handler) map[string]string {
	held := map[string]string{}
	for collection, attribute := range namesOf {
		for _, o := range listed(h, collection, "id,"+attribute) {
			held[o.Text("id")] = o.Text(attribute)
		}
	}
	return held
}
