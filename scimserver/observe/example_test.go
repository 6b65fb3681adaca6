package observe_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
	"github.com/scimwright/scimwright/scimserver/observe"
)

// An access log and metrics for any handler that serves SCIM.
func ExampleWrap() {
	handler, err := scimserver.New(scimserver.Options{Store: memstore.New(), Tokens: scimserver.StaticTokens("secret")})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := observe.NewMetrics()
	observed := observe.Wrap(handler, observe.Options{Metrics: m, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})

	observed.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/Users", nil)) // without a token
	families, err := m.Gatherer().Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		fmt.Println(f.GetName())
	}
	// Output:
	// scim_request_duration_seconds
	// scim_requests_in_flight
	// scim_requests_total
	// scim_response_bytes_total
}
