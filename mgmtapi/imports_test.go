package mgmtapi

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// reads is an Importer that answers what a test sets.
type reads struct {
	Importer
	asked ImportRequest
	state ImportState
	err   error
}

func (r *reads) Import(_ context.Context, _ string, q ImportRequest) (string, error) {
	r.asked = q
	return "run", r.err
}

func (r *reads) ImportState(context.Context, string, string) (ImportState, error) {
	return r.state, r.err
}

func TestImporter_Requests(t *testing.T) {
	r := &reads{}
	for _, c := range []struct {
		groups   bool
		settings model.ImportSettings
		want     ImportRequest
	}{
		{false, model.ImportSettings{Match: model.ImportMatchUserName}, ImportRequest{Kind: User}},
		{false, model.ImportSettings{Match: model.ImportMatchEmail, Partial: true}, ImportRequest{Kind: User, ByEmail: true, Partial: true}},
		{true, model.ImportSettings{Match: model.ImportMatchEmail, Partial: true}, ImportRequest{Kind: Group}},
	} {
		_, err := importer{r}.Import(t.Context(), "app", c.groups, c.settings)
		require.NoError(t, err)
		require.Equal(t, c.want, r.asked)
	}
}

func TestImporter_States(t *testing.T) {
	for _, c := range []struct {
		state ImportState
		want  imports.Run
	}{
		{ImportState{Running: true}, imports.Run{State: imports.Running}},
		{ImportState{}, imports.Run{State: imports.Done}},
		{ImportState{Failed: true, Error: "gone"}, imports.Run{State: imports.Failed, Error: "gone"}},
	} {
		got, err := importer{&reads{state: c.state}}.State(t.Context(), "app", "run")
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func TestImporter_Rejection(t *testing.T) {
	inner := errors.New("the reason")
	r := &reads{err: &Rejection{Summary: "Another import is running", Causes: []string{"app: busy"}, Err: inner}}
	_, err := importer{r}.Import(t.Context(), "app", false, model.ImportSettings{})
	e, ok := errors.AsType[*rest.Error](err)
	require.True(t, ok)
	require.Equal(t, []any{rest.CodeValidation, "Another import is running", []string{"app: busy"}}, []any{e.Code, e.Summary, e.Causes})
	require.ErrorIs(t, err, inner)
	r.err = inner
	_, err = importer{r}.Import(t.Context(), "app", false, model.ImportSettings{})
	_, ok = errors.AsType[*rest.Error](err)
	require.False(t, ok, "other errors are failures")
}
