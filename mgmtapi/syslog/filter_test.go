package syslog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// Whatever callers send as a filter is either refused by its code or says something of every event.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		`eventType eq "x"`, `not (target.id pr) or actor.id ne "u"`, `published ge "2026-03-04T05:06:07Z"`, `debugContext.debugData.a.b co "x"`,
		`authenticationContext.authenticationStep le 1e99`, `request.ipChain.ip[x eq 1]`, `urn:a:b:eventType pr`, `device.x sw "y"`, `eventType eq null`, `(`,
	} {
		f.Add(seed)
	}
	event := model.LogEvent{
		ID: "i", Published: time.Unix(1_772_600_767, 0), Type: "user.lifecycle.create", Result: model.LogFailure, Reason: "r",
		Actor: model.LogParty{ID: "u", Type: "User"}, Targets: []model.LogParty{{ID: "a"}, {ID: "b"}},
		Request: &model.LogRequest{Path: "/p", IP: "127.0.0.1", UserAgent: "Mozilla/5.0"}, Debug: map[string]string{"a": "b"},
	}
	shown := members(render(docstore.Doc[model.LogEvent]{ID: "i", Value: event}))
	f.Fuzz(func(t *testing.T, expression string) {
		holds, err := compile(expression)
		if err != nil {
			var refused *rest.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, rest.CodeLogFilter, refused.Code)
			return
		}
		require.Equal(t, holds(shown), holds(shown))
	})
}
