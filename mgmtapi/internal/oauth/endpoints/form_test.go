package endpoints_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// RFC 6749 section 3.2: no parameter may be repeated. The client, the server and intermediaries could read different values.
func TestForm_RejectsRepeatsAndNUL(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	id, secret := w.client("")
	const good = "grant_type=client_credentials"
	send := func(path, query, body string) (status int, code string) {
		header := basic(id, secret)
		header["Content-Type"] = "application/x-www-form-urlencoded"
		a := w.Do(t, "POST "+path+query, body, header)
		if a.Status != 200 {
			require.NotEmpty(t, a.Value("error_description"))
		}
		return a.Status, a.Value("error")
	}
	for _, path := range []string{"/oauth2/default/v1/token", "/oauth2/v1/token"} {
		for name, c := range map[string]struct{ query, body string }{
			"twice in the body":                             {"", good + "&" + good},
			"twice with another value":                      {"", good + "&scope=a&scope=b"},
			"twice in the query":                            {"?" + good + "&" + good, ""},
			"in the query and in the body":                  {"?" + good, good},
			"with U+0000":                                   {"", good + "&scope=a%00b"},
			"with U+0000 in the query":                      {"?scope=a%00b", good},
			"unknown, with U+0000":                          {"", good + "&nobody-reads=%00"},
			"with U+0000 in its name":                       {"", good + "&a%00b=1"},
			"a secret in the header and in the body":        {"?client_secret=" + secret, good + "&client_secret=" + secret},
			"the client's id in the header and in the body": {"?client_id=" + id, good + "&client_id=" + id},
		} {
			status, code := send(path, c.query, c.body)
			require.Equal(t, 400, status, name)
			require.Equal(t, "invalid_request", code, name)
		}
	}
	for _, path := range []string{"/oauth2/default/v1/introspect", "/oauth2/default/v1/revoke", "/oauth2/v1/introspect", "/oauth2/v1/revoke"} {
		for query, body := range map[string]string{"": "token=x&token=y", "?token=x": "token=x", "?": "token=x%00"} {
			status, code := send(path, query, body)
			require.Equal(t, 400, status, path)
			require.Equal(t, "invalid_request", code, path)
		}
	}
	status, code := send("/oauth2/default/v1/token", "", good+"&scope=nosuch&nobody-reads=1&nobody-reads=2")
	require.Equal(t, 400, status)
	require.Equal(t, "invalid_scope", code, "parameters that OAuth does not define are ignored")
}
