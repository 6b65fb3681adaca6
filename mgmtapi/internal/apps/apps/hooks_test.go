package apps_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func TestApp_HookDeleted(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		hook := func(name string) string {
			return w.Post("/inlineHooks", object{
				"name": name, "type": "com.svc.saml.tokens.transform", "version": "1.0.0",
				"channel": object{"config": object{"uri": "https://hooks.example.com"}},
			}).OK().Text("id")
		}
		gone, stays := hook("gone"), hook("stays")
		both := w.Post("/apps", set(t, customSAML, "settings.signOn.inlineHooks", []any{object{"id": gone}, object{"id": stays}})).OK().Text("id")
		one := w.Post("/apps", set(t, customSAML, "settings.signOn.inlineHooks", []any{object{"id": gone}})).OK().Text("id")
		other := w.Post("/apps", set(t, customSAML, "settings.signOn.inlineHooks", []any{object{"id": stays}})).OK().Text("id")
		w.Post("/inlineHooks/"+gone+"/lifecycle/deactivate", nil).OK()
		w.Events()
		w.Delete("/inlineHooks/" + gone).OK(204)
		w.Expect(model.AppChanged{App: both}, model.AppChanged{App: one}, model.InlineHookDeleted{ID: gone})
		for app, want := range map[string][]string{both: {stays}, one: nil, other: {stays}} {
			read := w.Get("/apps/" + app).OK()
			var have []string
			hooks, _ := read.Value("settings", "signOn", "inlineHooks").([]any)
			for _, h := range hooks {
				have = append(have, h.(map[string]any)["id"].(string))
			}
			require.Equal(t, want, have)
			written := w.Put("/apps/"+app, string(read.Body)).OK()
			require.Empty(t, cmp.Diff(read.Value("settings"), written.Value("settings")))
		}
	})
}
