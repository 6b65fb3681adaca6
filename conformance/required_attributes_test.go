package conformance

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGiven_NamesRelevantAttribute checks that a finding is attributed to a configured attribute only if the requests or the finding are
// about it.
func TestGiven_NamesRelevantAttribute(t *testing.T) {
	s := &session{opts: Options{Attributes: map[string]Doc{"User": {"userType": "staff", "urn:x": map[string]any{"badge": "7"}}}}}
	for name, tt := range map[string]struct {
		req   Request
		found string
		want  string
	}{
		"a body with the configured value": {Request{Method: "POST", Path: "/Users", Body: Doc{"userType": "staff", "title": "x"}}, "title",
			""},
		"a body with another value": {Request{Method: "POST", Path: "/Users", Body: Doc{"userType": "boss"}}, "status", "userType"},
		"a body with the configured value of an extension": {Request{Method: "POST", Body: Doc{"URN:X": Doc{"badge": "7", "room": "1"}}}, "room",
			""},
		"another value in an extension": {Request{Method: "PUT", Body: Doc{"urn:x": Doc{"badge": "8"}}}, "badge", "urn:x"},
		"a filter": {Request{Method: "GET", Path: "/Users", Query: url.Values{"filter": {`USERTYPE ne "x"`}}}, "ids",
			"userType"},
		"a filter with its name as a value": {Request{Method: "GET", Path: "/Users", Query: url.Values{"filter": {`title ne "userType"`}}},
			"ids", ""},
		"the path of an operation": {Request{Method: "PATCH", Body: Doc{"Operations": []Doc{{"op": "remove", "path": "userType"}}}},
			"status", "userType"},
		"a finding about it": {Request{Method: "GET", Path: "/Users/1"}, "userType after PUT", "userType"},
		"a sort by an attribute of an extension": {Request{Method: "GET", Path: "/Users", Query: url.Values{"sortBy": {"urn:x:badge"}}}, "ids",
			"urn:x"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, s.configuredAttribute([]Request{tt.req}, []Finding{{What: tt.found}}))
		})
	}
}
