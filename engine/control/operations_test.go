package control_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/control/client"
)

// TestOperations_ClientHasEach checks that the client has a method for each operation. Commands and consoles cannot use an operation
// without one.
func TestOperations_ClientHasEach(t *testing.T) {
	var mu sync.Mutex
	called := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		called[r.Method+" "+r.URL.Path] = true
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)
	methods := reflect.ValueOf(client.New(server.URL, ""))
	for i := range methods.NumMethod() {
		if methods.Type().Method(i).Name == "Do" {
			continue // the client has no method
		}
		for _, text := range []string{"x", ""} { // an empty app means all apps in some methods
			methods.Method(i).Call(arguments(t, methods.Method(i).Type(), text))
		}
	}
	variable := regexp.MustCompile(`\{\w+\}`)
	for _, o := range control.Operations("/") {
		path := variable.ReplaceAllString(strings.ReplaceAll(o.Path, "{kind}", string(engine.User)), "x")
		require.True(t, called[o.Method+" "+path], "%s: add a method for %s %s to engine/control/client", o.ID, o.Method, o.Path)
	}
}

// arguments returns arguments of a method of the client: the context, a user, the text for every string, and zero values.
func arguments(t *testing.T, method reflect.Type, text string) (in []reflect.Value) {
	for i := range method.NumIn() {
		switch typ := method.In(i); {
		case typ == reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(t.Context()))
		case typ == reflect.TypeFor[engine.Principal]():
			in = append(in, reflect.ValueOf(engine.Principal{Kind: engine.User, ID: "x"}))
		case typ.Kind() == reflect.String:
			in = append(in, reflect.ValueOf(text).Convert(typ))
		default:
			in = append(in, reflect.Zero(typ))
		}
	}
	return in
}
