package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/scimwright/scimwright/engine/control/client"
)

// A console lists the apps that need attention.
func Example() {
	idp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // a program that serves the API
		_, _ = w.Write([]byte(`[{"id":"crm","label":"CRM","lane":{"state":"quarantine","reason":"401"},"lag":{"due":3,"failed":1}}]`))
	}))
	defer idp.Close()

	c := client.New(idp.URL+"/engine/v1", "token")
	apps, err := c.Apps(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range apps {
		if a.Lane.State != client.LaneRunning || a.Lag.Failed > 0 {
			fmt.Printf("%s: %s (%s), %d pending, %d failed\n", a.Label, a.Lane.State, a.Lane.Reason, a.Lag.Due, a.Lag.Failed)
		}
	}
	// Output: CRM: quarantine (401), 3 pending, 1 failed
}
