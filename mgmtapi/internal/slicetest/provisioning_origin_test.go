package slicetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
)

// Who may configure a connection need not know its secret: with another scheme, host or port the secret is given again, and until then
// nothing is sent and nothing stored.
func TestConnection_SecretStaysAtItsOrigin(t *testing.T) {
	const (
		token  = `{"baseUrl":"https://scim.example.com/v2","profile":{"authScheme":"TOKEN","token":"u:` + apptest.Secret + `"}}`
		client = `{"baseUrl":"https://scim.example.com/v2","profile":{"authScheme":"OAUTH2","clientId":"me","clientSecret":"` + apptest.Secret +
			`","tokenUrl":"https://login.example.com/token"}}`
		tokenAgain  = "profile.token: The value must be given again, because baseUrl"
		secretAgain = "profile.clientSecret: The value must be given again, because "
	)
	cases := map[string]struct{ before, move, cause string }{
		"another host":        {token, `{"baseUrl":"https://evil.example/v2"}`, tokenAgain},
		"another scheme":      {token, `{"baseUrl":"http://scim.example.com:443/v2"}`, tokenAgain},
		"another port":        {token, `{"baseUrl":"https://scim.example.com:8443/v2"}`, tokenAgain},
		"a host below":        {token, `{"baseUrl":"https://scim.example.com.evil.example/v2"}`, tokenAgain},
		"an address":          {token, `{"baseUrl":"https://127.0.0.1/v2"}`, tokenAgain},
		"the scheme repeated": {token, `{"baseUrl":"https://evil.example","profile":{"authScheme":"TOKEN"}}`, tokenAgain},
		"an empty token":      {token, `{"baseUrl":"https://evil.example","profile":{"token":""}}`, tokenAgain},
		"a null token":        {token, `{"baseUrl":"https://evil.example","profile":{"token":null}}`, tokenAgain},
		"another format":      {token, `{"baseUrl":"https://evil.example","profile":{"headerFormat":"RAW"}}`, tokenAgain},
		"another lookup":      {token, `{"baseUrl":"https://evil.example","profile":{"userNameAttribute":"emails.value"}}`, tokenAgain},
		"a token as a secret": {token, `{"profile":{"authScheme":"OAUTH2","clientId":"me","tokenUrl":"https://evil.example"}}`,
			"profile.clientSecret: The field cannot be left blank"},

		"another token endpoint": {client, `{"profile":{"tokenUrl":"https://evil.example/token"}}`, secretAgain + "profile.tokenUrl"},
		"its port": {client, `{"profile":{"tokenUrl":"https://login.example.com:8443/token"}}`,
			secretAgain + "profile.tokenUrl"},
		"its scheme": {client, `{"profile":{"tokenUrl":"http://login.example.com/token"}}`, secretAgain + "profile.tokenUrl"},
		"with another client": {client, `{"profile":{"clientId":"you","tokenUrl":"https://evil.example/token"}}`,
			secretAgain + "profile.tokenUrl"},
		"a target that gets its tokens": {client, `{"baseUrl":"https://evil.example"}`, secretAgain + "baseUrl"},
		"a secret as a token": {client, `{"baseUrl":"https://evil.example","profile":{"authScheme":"TOKEN"}}`,
			"profile.token: The field cannot be left blank"},
	}
	w := apptest.New(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := "/apps/" + w.SCIMApp(name) + "/connections/default"
			for _, active := range []string{"", "?activate=true"} {
				w.Post(path+active, c.before).OK()
				asked, stored := len(w.Tester.Asked()), w.Get(path).OK().Body
				for _, activate := range []string{"", "?activate=true", "?activate=false"} {
					w.Post(path+activate, c.move).Fails(400, "E0000001", c.cause)
					require.Len(t, w.Tester.Asked(), asked, "nothing is sent")
					require.Equal(t, stored, w.Get(path).OK().Body, "nothing is stored")
				}
				w.Post(path+"/lifecycle/activate", nil).OK(204)
				last := w.Tester.Asked()[asked]
				require.Equal(t, "https://scim.example.com/v2", last.BaseURL)
				require.Contains(t, last.Token, apptest.Secret)
			}
		})
	}
}

func TestConnection_SecretGivenAgain(t *testing.T) {
	w := apptest.New(t)
	path := "/apps/" + w.SCIMApp("HR") + "/connections/default?activate=true"
	for _, step := range []struct{ body, base, token string }{
		{`{"baseUrl":"https://a.example/v1","profile":{"token":"first"}}`, "https://a.example/v1", "first"},
		{`{"baseUrl":"https://A.example:443/v2"}`, "https://A.example:443/v2", "first"}, // another path
		{`{"baseUrl":"https://b.example","profile":{"token":"second"}}`, "https://b.example", "second"},
		{`{"profile":{"authScheme":"OAUTH2","clientId":"me","clientSecret":"third","tokenUrl":"https://login.example/a"}}`, "https://b.example",
			"third"},
		{`{"profile":{"tokenUrl":"https://login.example/b"}}`, "https://b.example", "third"}, // another path
		{`{"baseUrl":"http://b.example","profile":{"tokenUrl":"http://login.example","clientSecret":"fourth"}}`, "http://b.example", "fourth"},
	} {
		w.Post(path, step.body).OK()
		asked := w.Tester.Asked()
		last := asked[len(asked)-1]
		require.Equal(t, []string{step.base, step.token}, []string{last.BaseURL, last.Token})
	}
}
