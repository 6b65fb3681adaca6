package scimserver_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/scimwright/scimwright/fixtures"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver"
)

// FuzzRequest sends hostile bodies, filters and paths, and wants that no client mistake is answered by a 5xx and every
// answer is SCIM.
func FuzzRequest(f *testing.F) {
	store := sqliteStore(f)
	handler, err := scimserver.New(scimserver.Options{Store: store, Tokens: scimserver.StaticTokens(token), PasswordCost: 4})
	if err != nil {
		f.Fatal(err)
	}
	ids := map[string]string{}
	for endpoint, body := range map[string]string{
		"/Users":  `{"schemas":["` + scim.UserSchema + `"],"userName":"ann","password":"x"}`,
		"/Groups": `{"schemas":["` + scim.GroupSchema + `"],"displayName":"team"}`,
	} {
		w := send(handler, http.MethodPost, endpoint, body)
		o, err := scim.Decode(w.Body.Bytes())
		if err != nil || w.Code != http.StatusCreated {
			f.Fatal(w.Code, err)
		}
		ids[endpoint] = o.Text("id")
	}
	methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	for i, seed := range []struct{ path, filter, body string }{
		{"/Users", `userName eq "ann"`, `{"schemas":["` + scim.UserSchema + `"],"userName":"b"}`},
		{"/Groups", `members[value eq "x"] and displayName co "\u0041"`, `{"schemas":["` + scim.GroupSchema + `"],"displayName":"b","members":[{"value":"x"}]}`},
		{"/Users/ID", `emails[type eq "work"].value pr`, `{"schemas":["` + scim.PatchOpMessage + `"],"Operations":[{"op":"replace","path":"members[value eq \"\\u0000\"]","value":[null]}]}`},
		{"/Groups/ID", `not (groups.value gt null)`, `{"schemas":["` + scim.PatchOpMessage + `"],"Operations":[{"op":"add","path":"members","value":[{"value":"\u0001\u001f"}]}]}`},
		{"/.search", ``, `{"schemas":["` + scim.SearchRequestMessage + `"],"filter":"id pr","count":1e3}`},
		{"/Users/%00", `meta.created ge "2020-01-01T00:00:00Z"`, `[]`},
	} {
		f.Add(uint8(i), seed.path, seed.filter, seed.body)
	}
	samples, err := fixtures.RFCSamples()
	if err != nil {
		f.Fatal(err)
	}
	for _, sample := range samples {
		f.Add(uint8(1), "/Users", "", string(sample))
		f.Add(uint8(2), "/Groups/ID", "", string(sample))
	}
	f.Fuzz(func(t *testing.T, method uint8, path, filter, body string) {
		target := strings.ReplaceAll(path, "ID", ids["/Groups"])
		if strings.HasPrefix(path, "/Users") {
			target = strings.ReplaceAll(path, "ID", ids["/Users"])
		}
		m := methods[int(method)%len(methods)]
		if m == http.MethodDelete {
			target += "x" // the two resources stay
		}
		if filter != "" {
			target += "?filter=" + url.QueryEscape(filter)
		}
		u, err := url.Parse("http://localhost" + target)
		if err != nil || !strings.HasPrefix(u.Path, "/") {
			return
		}
		w := send(handler, m, target, body)
		if w.Code >= 500 && w.Code != http.StatusNotImplemented {
			t.Fatalf("%s %s %s: %d %s", m, target, body, w.Code, w.Body)
		}
		if w.Body.Len() == 0 {
			return
		}
		if _, err := scim.Decode(w.Body.Bytes()); err != nil {
			t.Fatalf("%s %s: the answer is not JSON: %v\n%s", m, target, err, w.Body)
		}
	})
}

// send calls the handler without a network.
func send(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	u, err := url.Parse("http://localhost" + target)
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(method, "http://localhost/", bytes.NewReader([]byte(body)))
	r.URL = u
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", scim.MediaType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
