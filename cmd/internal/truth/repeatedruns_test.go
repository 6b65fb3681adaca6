package truth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// storesArrays returns a handler that accepts JSON arrays as users, like @boxyhq/saml-jackson. A user that a POST creates from an array has
// no id, so that no request can remove it: it is in the list of users, and a second array conflicts with it. A PUT of an array is only
// accepted if putToo is set.
func storesArrays(next http.Handler, putToo bool) http.Handler {
	var mu sync.Mutex
	var stored []byte
	send := func(w http.ResponseWriter, status int, body []byte) {
		w.Header().Set("Content-Type", "application/scim+json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		list := strings.HasSuffix(r.URL.Path, "/Users")
		array := json.Valid(body) && bytes.HasPrefix(body, []byte("["))
		switch {
		case array && r.Method == http.MethodPut && putToo:
			send(w, http.StatusOK, body)
		case array && r.Method == http.MethodPost && list && stored != nil:
			send(w, http.StatusConflict,
				[]byte(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"409","scimType":"uniqueness"}`))
		case array && r.Method == http.MethodPost && list:
			stored = body
			send(w, http.StatusCreated, body)
		case stored != nil && r.Method == http.MethodGet && list && !r.URL.Query().Has("filter"):
			rec := httptest.NewRecorder()
			next.ServeHTTP(rec, r)
			send(w, rec.Code, withItem(rec.Body.Bytes(), r.URL.Query().Get("startIndex"), r.URL.Query().Get("count"), stored))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// withItem adds an item to the last page of a ListResponse, and counts it in totalResults.
func withItem(response []byte, start, count string, item []byte) []byte {
	var list map[string]any
	if json.Unmarshal(response, &list) != nil || list["totalResults"] == nil {
		return response
	}
	items, _ := list["Resources"].([]any)
	total := int(list["totalResults"].(float64))
	first, size := 1, 1<<20
	_, _ = fmt.Sscan(start, &first)
	_, _ = fmt.Sscan(count, &size)
	if len(items) < size && max(first, 1)+len(items) == total+1 {
		list["Resources"] = append(items, json.RawMessage(item))
		list["itemsPerPage"] = len(items) + 1
	}
	list["totalResults"] = total + 1
	out, _ := json.Marshal(list) // a decoded object can be encoded
	return out
}

// TestSuite_ArraysStored checks that a run leaves no object without an id on a server that stores JSON arrays as users, and that a second
// run on this server has the same findings.
func TestSuite_ArraysStored(t *testing.T) {
	t.Parallel()
	server := storesArrays(newReferenceServer(t), true)
	first := suite(t, server, "create", "body", "list", "traffic")
	require.Empty(t, first.Leftovers)
	second := suite(t, server, "create", "body", "list", "traffic")
	require.Equal(t, findingsOf(first), findingsOf(second))
	require.Equal(t, conformance.Warn, outcomeOf(first, "body.put"))
	require.Equal(t, conformance.Pass, outcomeOf(first, "create.malformed-json"), "body.put reports the fault")
}

// TestSuite_ItemWithoutID checks that an item without an id, which a list of users already contains, is no fault of the paging.
func TestSuite_ItemWithoutID(t *testing.T) {
	t.Parallel()
	server := storesArrays(newReferenceServer(t), false)
	first := suite(t, server, "create", "list")
	require.Len(t, first.Leftovers, 1, "the user that the array has created")
	require.Equal(t, conformance.Warn, outcomeOf(first, "create.malformed-json"))
	second := suite(t, server, "list")
	require.Equal(t, conformance.Pass, outcomeOf(second, "list.walk"))
}

// losesOne returns a handler that does not execute one of several concurrent PATCHes and returns success, each time another one: for the
// first group the one that adds the user ann, for the second group the one that adds ben, and the same with the attributes of users.
func losesOne(next http.Handler) http.Handler {
	var mu sync.Mutex
	labels := map[string]string{} // by id of the user
	lost := map[string]string{}   // by path
	turns := map[bool]int{}
	choices := map[bool][]string{true: {"ann", "ben", "cat", "dan"}, false: {`"name.givenName"`, `"name.familyName"`, `"displayName"`}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		if r.Method == http.MethodPatch {
			group := strings.Contains(r.URL.Path, "/Groups/")
			if lost[r.URL.Path] == "" {
				lost[r.URL.Path] = choices[group][turns[group]%len(choices[group])]
				turns[group]++
			}
			text := string(body)
			for id, label := range labels {
				text = strings.ReplaceAll(text, id, label)
			}
			if strings.Contains(text, lost[r.URL.Path]) {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(rec, r)
		var created struct{ ID, UserName string }
		if r.Method == http.MethodPost && json.Unmarshal(rec.Body.Bytes(), &created) == nil {
			for _, name := range choices[true] {
				if strings.Contains(created.UserName, "-"+name+"@") {
					labels[created.ID] = name
				}
			}
		}
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// TestSuite_RacesLoseDifferently checks that a lost change is a finding that is not unsteady if the repetition of the check loses another
// change.
func TestSuite_RacesLoseDifferently(t *testing.T) {
	t.Parallel()
	r := suite(t, losesOne(newReferenceServer(t)), "concurrency.add-members", "concurrency.patch-attributes")
	require.Zero(t, r.Steadiness.UnsteadyFindings)
	for _, c := range r.Checks {
		require.Equal(t, conformance.Fail, c.Outcome, describe(c))
	}
}

func outcomeOf(r *conformance.Result, id string) conformance.Outcome {
	for _, c := range r.Checks {
		if c.Check.ID == id {
			return c.Outcome
		}
	}
	return ""
}
