package pull

import (
	_ "embed"
	"slices"
)

//go:embed openapi.json
var document []byte

// OpenAPI returns the OpenAPI 3.0 document of the queries, which the identity provider serves.
func OpenAPI() []byte { return slices.Clone(document) }
