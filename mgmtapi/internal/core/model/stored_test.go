package model_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/storedtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// events holds the values in the rows of the outbox, by the names of their types.
var events = []model.Event{
	model.AppChanged{}, model.AppGroupChanged{}, model.AppUserChanged{}, model.AuthServerDeleted{}, model.UserChanged{},
	model.UserActivated{}, model.UserDeactivated{}, model.UserDeleted{}, model.GroupChanged{}, model.GroupDeleted{},
	model.MembershipChanged{}, model.InlineHookDeleted{}, model.MappingChanged{}, model.PushMappingChanged{}, model.SessionsCleared{},
	model.PasswordKnown{},
}

// TestStoredForms covers the documents of all collections, all events, and the encrypted parts of documents.
func TestStoredForms(t *testing.T) {
	codecs := map[string]storedtest.Codec{"seed of hardware_tokens": storedtest.Of[model.HardwareSeed]()}
	m, tables := reflect.ValueOf(model.New()).Elem(), 0
	for i := range m.NumField() {
		if _, counts := m.Field(i).Interface().(docstore.Windows); counts { // has no documents
			tables++
			continue
		}
		get, ok := m.Field(i).Type().MethodByName("Get")
		require.True(t, ok)
		value, ok := get.Type.Out(0).FieldByName("Value")
		require.True(t, ok)
		codecs[m.Field(i).Interface().(docstore.Table).Name()] = storedtest.Type(value.Type)
		tables++
	}
	require.Len(t, model.New().Tables(), tables)
	require.ElementsMatch(t, receivers(t, "Topic"), names())
	for _, e := range events {
		codecs["event "+e.Topic()] = storedtest.Type(reflect.TypeOf(e))
	}
	storedtest.Check(t, codecs)
}

func names() (out []string) {
	for _, e := range events {
		out = append(out, reflect.TypeOf(e).Name())
	}
	return out
}

// receivers returns the types of this package that have the given method.
func receivers(t *testing.T, method string) (out []string) {
	t.Helper()
	files, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0) //nolint:staticcheck // one folder without build tags
	require.NoError(t, err)
	for _, f := range files["model"].Files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == method {
				out = append(out, strings.TrimPrefix(ast.Unparen(fn.Recv.List[0].Type).(*ast.Ident).Name, "*"))
			}
		}
	}
	return out
}
