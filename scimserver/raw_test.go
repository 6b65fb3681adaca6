package scimserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

// decodingStore hides that a store is a RawReader, so that the server decodes the resources.
type decodingStore struct {
	scimserver.Store
	scimserver.Selector
}

func decoding(s scimserver.Store) scimserver.Store { return decodingStore{s, s.(scimserver.Selector)} }

// bothWays returns two servers on one store: one that sends stored text, and one that decodes it.
func bothWays(t testing.TB, store scimserver.Store, change ...func(*scimserver.Options)) (raw, decoded *harness) {
	t.Helper()
	same := func(o *scimserver.Options) {
		o.BaseURL = "https://scim.example.com" + prefix
		o.Cursors.Key = []byte("key")
	}
	change = append([]func(*scimserver.Options){same}, change...)
	return serve(t, store, change...), serve(t, decoding(store), change...)
}

var cursorText = regexp.MustCompile(`"(nextCursor|previousCursor)":"[^"]+"`)

// withoutCursors replaces the cursors of a list, which differ with each response.
func withoutCursors(text string) string { return cursorText.ReplaceAllString(text, `"$1":"..."`) }

// TestRaw_EqualsDecoding sends random requests for reading to both servers.
func TestRaw_EqualsDecoding(t *testing.T) {
	store := sqliteStore(t)
	raw, decoded := bothWays(t, store)
	var ids []string
	for i := range 20 {
		more := object{
			"title":  fmt.Sprintf("Title <%d> \u2028 \"é\"", i%3),
			"emails": []object{{"value": fmt.Sprintf("u%d@example.com", i), "type": "work"}},
		}
		if i%2 == 0 {
			more["externalId"] = fmt.Sprint(i)
			more["password"] = "secret password"
		}
		if i%4 == 0 {
			more["schemas"] = []string{scim.UserSchema, scim.EnterpriseUserSchema}
			more[scim.EnterpriseUserSchema] = object{"department": "d", "manager": object{"value": "m"}}
		}
		ids = append(ids, raw.newUser(t, fmt.Sprintf("user%d", i), more).id())
	}
	inner := raw.newGroup(t, "inner", ids[:5]...).id()
	outer := raw.newGroup(t, "outer", inner, ids[7]).id()
	all := append([]string{inner, outer, raw.newGroup(t, "empty").id(), "missing"}, ids...)
	rapid.Check(t, func(t2 *rapid.T) {
		params := url.Values{}
		endpoint := rapid.SampledFrom([]string{"/Users", "/Groups", "/Users/", "/Groups/", "", "/"}).Draw(t2, "endpoint")
		if strings.HasSuffix(endpoint, "s/") {
			endpoint += rapid.SampledFrom(all).Draw(t2, "id")
		} else {
			maybe := func(name string, values ...string) {
				if value := rapid.SampledFrom(append([]string{"", ""}, values...)).Draw(t2, name); value != "" {
					params.Set(name, value)
				}
			}
			maybe("count", "0", "1", "3", "7", "100")
			maybe("startIndex", "1", "2", "5", "19", "50")
			maybe("sortBy", "userName", "externalId", "displayName", "meta.created", "id", "title", "emails.value")
			maybe("sortOrder", "ascending", "descending")
			maybe("filter", `userName eq "USER3"`, `userName sw "user1"`, `externalId pr`, `title co "1"`, `members.value eq "`+ids[7]+`"`,
				`displayName eq "inner"`)
			if params.Get("startIndex") == "" && rapid.Bool().Draw(t2, "by cursor") {
				params.Set("cursor", "")
			}
		}
		lists := []string{"", "", "userName", "groups", "members", "members.display", "members.value,displayName", "groups.value", "meta.version",
			"emails.value,externalId", scim.EnterpriseUserSchema, scim.EnterpriseUserSchema + ":manager.value", "id", "unknown", "password"}
		if list := rapid.SampledFrom(lists).Draw(t2, "attributes"); list != "" {
			params.Set(rapid.SampledFrom([]string{"attributes", "excludedAttributes"}).Draw(t2, "projection"), list)
		}
		for range 4 { // pages
			target := endpoint + "?" + params.Encode()
			want, got := decoded.do(t, http.MethodGet, target, nil), raw.do(t, http.MethodGet, target, nil)
			require.Equal(t, want.status, got.status, target)
			require.Equal(t, withoutCursors(want.text), withoutCursors(got.text), target)
			for _, name := range []string{"ETag", "Location", "Content-Length", "Cache-Control"} {
				if name != "Content-Length" || !params.Has("cursor") {
					require.Equal(t, want.header.Get(name), got.header.Get(name), "%s of %s", name, target)
				}
			}
			cursor := got.body.Text(rapid.SampledFrom([]string{"nextCursor", "nextCursor", "previousCursor"}).Draw(t2, "direction"))
			if cursor == "" {
				break
			}
			params.Set("cursor", cursor)
		}
	})
}

// TestRaw_FilteredText sends filters without an index to both servers, with texts that differ in case, width, composition and escapes.
func TestRaw_FilteredText(t *testing.T) {
	store := sqliteStore(t)
	raw, decoded := bothWays(t, store, func(o *scimserver.Options) { o.Limits.MaxResults = 1000 })
	texts := []string{
		"task", "TASK", "ta\u017Fk", "tas\u212A", "\uFF54ask", "task force", "Multitask", "multitas\u212Aing", "caf\u00E9", "cafe\u0301",
		"CAF\u00C9", "cafe",
		`a"task`, `back\task`, "<task>", "task%", "t_sk", "tab\ttask", "line\u2028task", "\u0130task", "itask", "100%", "_", "%%%", "ta", "none",
	}
	for i, text := range texts {
		raw.newUser(t, fmt.Sprint("user", i), object{
			"title": text, "nickName": texts[(i*7)%len(texts)], "name": object{"familyName": text, "givenName": texts[(i*5)%len(texts)]},
			"phoneNumbers": []object{{"value": text, "display": text, "type": "work"}, {"value": texts[(i*3)%len(texts)], "type": "home"}},
			"profileUrl":   "https://example.com/" + url.PathEscape(text), scim.EnterpriseUserSchema: object{"division": text},
			"x509Certificates": []object{{"value": "dGFzaw==", "display": text}},
		})
	}
	for i := range scanPart { // a filter reads several parts
		raw.newUser(t, fmt.Sprint("other", i), object{"title": fmt.Sprint("other ", i%7)})
	}
	paths := []string{"title", "nickName", "name.familyName", "name.givenName", "phoneNumbers", "phoneNumbers.value", "phoneNumbers.display",
		"phoneNumbers.type", "profileUrl", scim.EnterpriseUserSchema + ":division", "x509Certificates.display",
		"id", "meta.location", "meta.resourceType", "groups.display", "displayName"}
	found := 0
	rapid.Check(t, func(t2 *rapid.T) {
		comparison := func() string {
			text := rapid.SampledFrom(append(texts, "work", "user", "https://example.com/task", "other 3")).Draw(t2, "operand")
			op := rapid.SampledFrom([]string{" eq ", " co ", " sw ", " ew ", " ne "}).Draw(t2, "operator")
			return rapid.SampledFrom(paths).Draw(t2, "path") + op + string(scim.AppendString(nil, text))
		}
		f := comparison()
		switch rapid.IntRange(0, 4).Draw(t2, "form") {
		case 0:
			f += " and " + comparison()
		case 1:
			f += " or " + comparison()
		case 2:
			f = "not (" + f + ") and " + comparison()
		}
		target := "/Users?count=1000&attributes=title&filter=" + url.QueryEscape(f)
		want, got := decoded.get(t, target), raw.get(t, target)
		require.Equal(t, want.text, got.text, f)
		if n, _ := got.body.Get("totalResults"); n != nil && fmt.Sprint(n) != "0" {
			found++
		}
	})
	require.Positive(t, found)
}

// scanPart is the number of resources that a scan reads by one statement.
const scanPart = 500

// TestRaw_ChangedSchema reads resources that were stored under another schema.
func TestRaw_ChangedSchema(t *testing.T) {
	store := sqliteStore(t)
	before := serve(t, store)
	id := before.newUser(t, "ann", object{"title": "Dr.", "nickName": "A", "name": object{"givenName": "Ann", "familyName": "Lee"}}).id()
	types := []*schema.ResourceType{schema.UserType(), schema.GroupType()}
	types[0].Schema.Attribute("title").Returned = schema.Never
	types[0].Schema.Attribute("nickName").Returned = schema.Request
	types[0].Schema.Attribute("name").SubAttribute("familyName").Returned = schema.Never
	raw, decoded := bothWays(t, store, func(o *scimserver.Options) { o.Types = types })
	for _, query := range []string{"", "?attributes=title,nickName", "?attributes=name", "?excludedAttributes=name.givenName"} {
		want, got := decoded.get(t, "/Users/"+id+query), raw.get(t, "/Users/"+id+query)
		require.Equal(t, want.text, got.text, query)
		require.NotContains(t, got.text, "Dr.")
		require.NotContains(t, got.text, "Lee")
	}
}

// fill creates users with a long attribute.
func fill(t testing.TB, store scimserver.Store, users, size int) {
	t.Helper()
	for i := range users {
		rec := grownUser(i)
		rec.Resource.Set("nickName", strings.Repeat("x", size))
		_, err := store.Create(t.Context(), rec, nil)
		require.NoError(t, err)
	}
}

// TestPage_InParts reads a page that is sent in several parts.
func TestPage_InParts(t *testing.T) {
	const users = 700
	store := sqliteStore(t)
	fill(t, store, users, 3000)
	raw, decoded := bothWays(t, store)
	for _, query := range []string{"count=1000", "count=600&startIndex=50&sortBy=userName&sortOrder=descending", "count=650&cursor="} {
		want, got := decoded.get(t, "/Users?"+query), raw.get(t, "/Users?"+query)
		require.Empty(t, got.header.Get("Content-Length"), "the page is sent as it is read")
		for _, name := range []string{"totalResults", "startIndex", "itemsPerPage", "Resources"} {
			require.Equal(t, want.json(name), got.json(name), "%s of %s", name, query)
		}
		require.Equal(t, want.body.Text("nextCursor") == "", got.body.Text("nextCursor") == "", query)
		if cursor := got.body.Text("nextCursor"); cursor != "" {
			last := raw.get(t, "/Users?cursor="+cursor)
			require.Equal(t, "50", last.json("itemsPerPage"))
			// A page before a cursor ends after the first part, and is in the order of the list.
			previous := raw.get(t, "/Users?count=1000&cursor="+last.body.Text("previousCursor"))
			_, names := previous.list(t, "userName")
			require.Greater(t, len(names), 250)
			require.Equal(t, "user0000649", names[len(names)-1])
			require.Equal(t, fmt.Sprintf("user%07d", 650-len(names)), names[0])
			require.NotEmpty(t, previous.body.Text("previousCursor"))
		}
	}
}

// TestPage_LargerThanLimit checks that a page by startIndex is rejected, and that a page by cursor ends early.
func TestPage_LargerThanLimit(t *testing.T) {
	const users, most = 40, 8000
	eachStore(t, func(t *testing.T, h *harness) {
		for i := range users {
			size := 500
			if i == 7 || i == 20 {
				size = most
			}
			h.newUser(t, fmt.Sprintf("user%02d", i), object{"nickName": strings.Repeat("x", size)})
		}
		for _, query := range []string{"", "?startIndex=8&count=1", "?sortBy=userName", "?sortBy=nickName"} {
			e := h.do(t, http.MethodGet, "/Users"+query, nil).wantError(t, http.StatusBadRequest, scim.TooMany)
			require.Contains(t, e.body.Text("detail"), "8000 bytes (Limits.MaxResponse)")
		}
		h.get(t, "/Users?count=5")
		total, names := h.get(t, "/Users?attributes=userName&count=20").list(t, "userName")
		require.Equal(t, fmt.Sprint(users), total)
		require.Len(t, names, 20, "the bound is that of the response, not of what is stored")
		for _, order := range []string{"", "&sortBy=userName", "&sortBy=nickName"} {
			var seen []string
			cursor, pages := "", 0
			for pages = 0; pages == 0 || cursor != "" && pages < users; pages++ {
				page := h.get(t, "/Users?cursor="+cursor+order)
				_, names := page.list(t, "userName")
				require.True(t, len(page.text) < most+2*scimserver.MaxSortKey+1000 || len(names) == 1, "%d bytes, %d resources",
					len(page.text), len(names))
				seen, cursor = append(seen, names...), page.body.Text("nextCursor")
			}
			require.Less(t, pages, users/3)
			require.Len(t, seen, users, "no resource is missing or repeated")
		}
		require.Greater(t, len(h.get(t, filtered("/Users", `userName eq "user07"`, "cursor=")).text), most)
	}, func(o *scimserver.Options) { o.Limits.MaxResponse = most })
}
