package rest_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
)

// namedThing is the body of a response whose component has a name that does not follow from the type.
type namedThing struct {
	Name string `json:"name"`
}

func (namedThing) SchemaName() string { return "former.Thing" }

func TestOpenAPI_SchemaNamer(t *testing.T) {
	route := rest.Op[struct{}, namedThing]{ID: "getThing", Route: "GET /thing", Tag: "Thing", Summary: "Read the thing",
		Scopes: []string{"things.read"},
		Do:     func(context.Context, *struct{}) (namedThing, error) { return namedThing{}, nil }}
	h, err := rest.NewHandler([]rest.Route{route}, rest.Options{Guard: guard{}, Limiter: noLimits{}})
	require.NoError(t, err)
	doc := document(t, h, "Things", "1")
	require.Contains(t, doc.Components.Schemas, "former.Thing")
	response := doc.Paths.Value("/thing").Get.Responses.Status(http.StatusOK)
	require.Equal(t, "#/components/schemas/former.Thing", response.Value.Content["application/json"].Schema.Ref)
}

// document returns the document of a table, which must be valid.
func document(t *testing.T, h *rest.Handler, title, version string) *openapi3.T {
	t.Helper()
	text, err := h.Document(title, version)
	require.NoError(t, err)
	doc, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	return doc
}
