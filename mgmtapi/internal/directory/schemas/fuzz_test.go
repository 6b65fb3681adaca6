package schemas

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// FuzzProperties decodes a property from any JSON and validates any value against it. Neither may panic, and an accepted value must be the
// same after it was stored.
func FuzzProperties(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"title":"x","type":"integer","minimum":1,"enum":[1],"oneOf":[{"const":1,"title":"One"}]}`, `1`},
		{`{"title":"x","type":"array","items":{"type":"string"}}`, `["a",{}]`},
		{`{"title":"x","type":"string","format":"locale","maxLength":3}`, `"en_US"`},
		{`{"title":"x","type":"array"}`, `[]`},
		{`{"title":"x","type":"number"}`, `1e999`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, definition, text string) {
		var p model.Property
		var value any
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.UseNumber()
		if json.Unmarshal([]byte(definition), &p) != nil || decoder.Decode(&value) != nil {
			return
		}
		var causes rest.Causes
		g := given{Properties: map[string]*model.Property{"x": &p}}
		properties := g.apply(nil, appKind, &causes)
		if causes.Err() != nil {
			return
		}
		before := properties["x"]
		problem := before.Problem(model.PlainValue(value))
		stored, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		var after model.Property
		if err := json.Unmarshal(stored, &after); err != nil {
			t.Fatal(err)
		}
		if again := after.Problem(model.PlainValue(value)); again != problem {
			t.Fatalf("%s holds %s: %q, and after it was stored %q", definition, text, problem, again)
		}
	})
}
