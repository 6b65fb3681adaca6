package report

import (
	_ "embed"
	"slices"
)

//go:embed report.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of the JSON report, format [Format].
func Schema() []byte { return slices.Clone(schema) }
