package wirelog_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/scimwright/scimwright/scim/wirelog"
)

// A transport captures each exchange without its secrets. Curl prints a command line that repeats the request.
func ExampleTransport() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	defer server.Close()
	client := &http.Client{Transport: wirelog.Transport(nil, func(e wirelog.Exchange) {
		fmt.Println(e.Status, e.RequestBody)
		fmt.Println(strings.ReplaceAll(wirelog.Curl(e), server.URL, "https://scim.example.com"))
	}, wirelog.Options{})}

	req, _ := http.NewRequest(http.MethodPost, server.URL+"/Users", strings.NewReader(`{"password":"pw-7f3a91"}`))
	req.Header.Set("Authorization", "Bearer s3cret-token")
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	// Output:
	// 201 {"password":"[redacted]"}
	// curl -X 'POST' 'https://scim.example.com/Users' -H "Authorization: Bearer $TOKEN" --data-binary '{"password":"[redacted]"}'
}
