package daemon

import (
	"net/http"
	"sync"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	"github.com/scimwright/scimwright/engine/webhooks/webhooksapi"
	"github.com/scimwright/scimwright/internal/rest"
)

// OpenAPI returns the content of /openapi.json: the operations of the desired state, of webhooks, of operators and of the daemon itself. It
// is generated from the operation tables alone, without a database.
func OpenAPI() ([]byte, error) {
	g := &guard{}
	all, err := desiredapi.OpenAPI(desiredapi.Options{Permit: g.permitDesired})
	if err != nil {
		return nil, err
	}
	operators, err := control.OpenAPI(control.Options{Permit: g.permitControl})
	if err != nil {
		return nil, err
	}
	receivers, err := webhooksapi.OpenAPI(webhooksapi.Options{Permit: g.permitWebhooks})
	if err != nil {
		return nil, err
	}
	own, err := newOwn(&api{}, rest.AllowAll{}, Options{})
	if err != nil {
		return nil, err
	}
	daemon, err := own.Document("scimwright engine service API", "v1")
	if err != nil {
		return nil, err
	}
	if all, err = serving.JoinOpenAPI(daemon, all, "desired.", nil); err != nil {
		return nil, err
	}
	if all, err = serving.JoinOpenAPI(all, receivers, "webhooks.", nil); err != nil {
		return nil, err
	}
	return serving.JoinOpenAPI(all, operators, "control.", nil)
}

// serveOpenAPI returns a handler of the document. The first request generates it.
func (d *Daemon) serveOpenAPI() http.HandlerFunc {
	document := sync.OnceValues(OpenAPI)
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := document()
		if err != nil {
			d.options.Logger.ErrorContext(r.Context(), "generating the OpenAPI document failed", "error", err)
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}
}
