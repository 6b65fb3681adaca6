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

// FuzzRequest sends malicious bodies, filters and paths. No client error may result in a 5xx, and every response must be SCIM.
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
		{"/Groups", `members[value eq "x"] and displayName co "\u0041"`,
			`{"schemas":["` + scim.GroupSchema + `"],"displayName":"b","members":[{"value":"x"}]}`},
		{"/Users/ID", `emails[type eq "work"].value pr`,
			`{"schemas":["` + scim.PatchOpMessage + `"],"Operations":[{"op":"replace","path":"members[value eq \"\\u0000\"]","value":[null]}]}`},
		{"/Groups/ID", `not (groups.value gt null)`,
			`{"schemas":["` + scim.PatchOpMessage + `"],"Operations":[{"op":"add","path":"members","value":[{"value":"\u0001\u001f"}]}]}`},
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
			target += "x" // deletes neither of the two resources, which other inputs need
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
			t.Fatalf("%s %s: the response is not JSON: %v\n%s", m, target, err, w.Body)
		}
	})
}

// FuzzBulk sends malicious bulk requests. Neither a request nor an operation may result in a 5xx, every response must be SCIM and of
// proportionate size, and existing resources must not be deleted.
func FuzzBulk(f *testing.F) {
	handler, err := scimserver.New(scimserver.Options{Store: newMapStore(), Tokens: scimserver.StaticTokens(token), PasswordCost: 4,
		Limits: scimserver.Limits{MaxBulkOperations: 30, MaxBulkPayload: 1 << 16}})
	if err != nil {
		f.Fatal(err)
	}
	kept := send(handler, http.MethodPost, "/Groups", `{"schemas":["`+scim.GroupSchema+`"],"displayName":"kept"}`)
	o, err := scim.Decode(kept.Body.Bytes())
	if err != nil || kept.Code != http.StatusCreated {
		f.Fatal(kept.Code, err)
	}
	group := "/Groups/" + o.Text("id")
	const newUser, newGroup = `{"schemas":["` + scim.UserSchema + `"],"userName":"u"}`, `{"schemas":["` + scim.GroupSchema +
		`"],"displayName":"g","members":[{"value":"bulkId:b"},{"value":"bulkId:a"}]}`
	const change = `{"schemas":["` + scim.PatchOpMessage + `"],"Operations":[{"op":"add","path":"members[value eq \"bulkId:a\"]","value":{}}]}`
	methods := []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, "GET", ""}
	for _, seed := range []struct {
		method1            uint8
		path1, id1, data1  string
		method2            uint8
		path2, ref2, data2 string
	}{
		{0, "/Users", "a", newUser, 0, "/Groups", "b", newGroup},
		{0, "/Groups", "a", newGroup, 0, "/Groups", "b", newGroup},
		{0, "/Groups", "b", newGroup, 2, "/Groups/bulkId:b", "", change},
		{3, "/Users/bulkId:bulkId:a", "", "", 1, "/Users/%00", `W/"1"`, "{}"},
		{0, "/Users", "bulkId:a", `{"$ref":"/bulkId:","path":"\"bulkId:\"","x":[["bulkId:a"]]}`, 5, group, "", change},
		{4, "//Users", "a", "[]", 2, group, "x", `{"schemas":[],"Operations":[{"op":"remove","path":"members","value":["bulkId:a"]}]}`},
	} {
		f.Add("", seed.method1, seed.path1, seed.id1, seed.data1, seed.method2, seed.path2, seed.ref2, seed.data2)
	}
	f.Add(`{"schemas":["`+scim.BulkRequestMessage+`"],"failOnErrors":1,"Operations":[null,1,{"method":1,"path":[],"bulkId":{},"data":[]}]}`,
		uint8(0), "", "", "", uint8(0), "", "", "")
	// operation returns one operation. Data that is not a JSON object is sent as a string.
	operation := func(method uint8, path, bulkID, data string) *scim.Object {
		o, err := scim.Decode([]byte(data))
		if err != nil {
			o = scim.NewObject(scim.Member{Name: "value", Value: data})
		}
		return scim.NewObject(scim.Member{Name: "method", Value: methods[int(method)%len(methods)]}, scim.Member{Name: "path", Value: path},
			scim.Member{Name: "bulkId", Value: bulkID}, scim.Member{Name: "version", Value: ""}, scim.Member{Name: "data", Value: o})
	}
	f.Fuzz(func(t *testing.T, body string, method1 uint8, path1, id1, data1 string, method2 uint8, path2, id2, data2 string) {
		if body == "" {
			body = string(
				scim.NewObject(scim.Member{Name: "schemas", Value: []any{scim.BulkRequestMessage}}, scim.Member{Name: "Operations", Value: []any{
					operation(method1, path1, id1, data1), operation(method2, path2, id2, data2)}}).AppendJSON(nil))
		}
		w := send(handler, http.MethodPost, "/Bulk", body)
		if w.Code >= 500 {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		answer, err := scim.Decode(w.Body.Bytes())
		if err != nil {
			t.Fatalf("%s: the response is not JSON: %v\n%s", body, err, w.Body)
		}
		if w.Body.Len() > 10*len(body)+30*1000 {
			t.Fatalf("a response of %d bytes to a request of %d bytes", w.Body.Len(), len(body))
		}
		for _, v := range answer.Array("Operations") {
			result := v.(*scim.Object)
			if strings.HasPrefix(result.Text("status"), "5") {
				t.Fatalf("%s: %s", body, result.AppendJSON(nil))
			}
			// Created resources are deleted, so that the store does not grow with the number of runs.
			if location := result.Text("location"); result.Text("status") == "201" {
				if w := send(handler, http.MethodDelete, strings.TrimPrefix(location, "http://localhost"), ""); w.Code != http.StatusNoContent &&
					w.Code != http.StatusNotFound {
					t.Fatalf("DELETE %s: %d %s", location, w.Code, w.Body)
				}
			}
		}
		if w := send(handler, http.MethodGet, group, ""); w.Code != http.StatusOK && !strings.Contains(body, group) {
			t.Fatalf("%s: the group was deleted", body)
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
