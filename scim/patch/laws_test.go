package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/lenient"
	"github.com/scimwright/scimwright/scim/schema"
)

var genPath = rapid.SampledFrom([]string{
	"", "title", "userName", "active", "id", "name", "name.givenName", "emails", "emails.type", `emails[type eq "work"]`,
	`emails[type eq "work"].value`, `emails[primary eq true].primary`,
	"schemas", "groups", enterprise, enterprise + ":department", enterprise + ":manager", enterprise + ":manager.value",
	"urn:example:Tags:labels", "urn:example:Tags:serial", "nothing", "emails[",
})

var genPatchValue = rapid.OneOf(
	rapid.SampledFrom([]any{nil, true, "x", "work", json.Number("1"), []any{}, []any{"x"}, []any{"a", "c"}}),
	rapid.Custom(func(t *rapid.T) any {
		o := &scim.Object{}
		for _, name := range rapid.SliceOfN(
			rapid.SampledFrom(
				[]string{"value", "type", "primary", "givenName", "title", "emails", "name", "id", "department", "manager", enterprise}), 0,
			3).Draw(t, "names") {
			o.Set(name,
				rapid.SampledFrom(
					[]any{nil, true, "x", "work", []any{scim.NewObject(scim.Member{Name: "value", Value: "v"}, scim.Member{Name: "primary", Value: true})},
						scim.NewObject(scim.Member{Name: "value", Value: "v"})}).Draw(t, "v"))
		}
		if rapid.Bool().Draw(t, "listed") {
			return []any{o}
		}
		return o
	}))

func genOperation() *rapid.Generator[scim.PatchOperation] {
	return rapid.Custom(func(t *rapid.T) scim.PatchOperation {
		op := scim.PatchOperation{Op: rapid.SampledFrom([]string{scim.OpAdd, scim.OpReplace, scim.OpRemove}).Draw(t, "op"),
			Path: genPath.Draw(t, "path")}
		if op.Op != scim.OpRemove {
			op.Value, op.HasValue = genPatchValue.Draw(t, "value"), true
		}
		return op
	})
}

// checkResult checks the properties that every result of Apply must have.
func checkResult(rt *schema.ResourceType, before, out *scim.Resource, changed bool) error {
	if changed == scim.Equal(&before.Object, &out.Object) {
		return fmt.Errorf("changed is %v", changed)
	}
	if !changed {
		return nil
	}
	if out.ID() != before.ID() || out.Text("userName") == "" {
		return fmt.Errorf("the id or the userName is missing")
	}
	clean, err := rt.Clean(out, schema.CleanOptions{Previous: out, RefuseUnknown: true})
	if err != nil {
		return fmt.Errorf("the result is not clean: %w", err)
	}
	if !scim.Equal(&clean.Object, &out.Object) {
		return fmt.Errorf("the result is not clean, it should be %s", clean.AppendJSON(nil))
	}
	return nil
}

// TestApply_CleanResult checks for random operations that ResourceType.Clean does not change the result of Apply, and that Apply does not
// modify its argument.
func TestApply_CleanResult(t *testing.T) {
	full, bare := resource(t, fullUser), resource(t, bareUser)
	rt := userType()
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom([]*scim.Resource{full, bare}).Draw(t, "r")
		before := r.Clone()
		req := &scim.PatchRequest{Operations: rapid.SliceOfN(genOperation(), 1, 3).Draw(t, "operations")}
		opts := Options{Accept: lenient.Set(rapid.Uint32Range(0, uint32(lenient.All)).Draw(t, "accepted"))}
		out, changed, err := Apply(r, req, rt, opts)
		if !scim.Equal(&before.Object, &r.Object) {
			t.Fatal("Apply changed its argument")
		}
		if err != nil {
			return
		}
		if err := checkResult(rt, r, out, changed); err != nil {
			t.Fatalf("%v: %s", err, out.AppendJSON(nil))
		}
	})
}

// TestApply_Idempotent checks that applying an add or replace twice equals applying it once, unless the first changes the elements that its
// own filter selects.
func TestApply_Idempotent(t *testing.T) {
	full, bare := resource(t, fullUser), resource(t, bareUser)
	rt := userType()
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom([]*scim.Resource{full, bare}).Draw(t, "r")
		op := genOperation().Filter(func(op scim.PatchOperation) bool { return op.Path == "" || op.Path[len(op.Path)-1] != ']' }).Draw(t, "op")
		req := &scim.PatchRequest{Operations: []scim.PatchOperation{op}}
		once, _, err := Apply(r, req, rt, Options{})
		if err != nil {
			return
		}
		twice, changed, err := Apply(once, req, rt, Options{})
		if err != nil {
			return // remove of a sub-attribute may remove an element that the path needs
		}
		if changed {
			t.Fatalf("once: %s\ntwice: %s", once.AppendJSON(nil), twice.AppendJSON(nil))
		}
	})
}

// TestApply_SameValue checks that replacing an attribute by its current value changes nothing.
func TestApply_SameValue(t *testing.T) {
	r, rt := resource(t, fullUser), userType()
	for name, v := range r.All() {
		if name == "groups" { // read-only
			continue
		}
		value := scim.NewObject(scim.Member{Name: name, Value: v})
		for _, op := range []string{scim.OpAdd, scim.OpReplace} {
			_, changed, err := Apply(r, &scim.PatchRequest{Operations: []scim.PatchOperation{{Op: op, Value: value, HasValue: true}}}, rt, Options{})
			if err != nil || changed {
				t.Fatalf("%s %s: changed %v, %v", op, name, changed, err)
			}
		}
	}
}

func FuzzApply(f *testing.F) {
	for _, s := range []string{
		`{"op":"add","path":"emails","value":[{"value":"c@x","primary":true}]}`,
		`{"op":"replace","path":"emails[type eq \"work\"].value","value":"c@x"}`,
		`{"op":"remove","path":"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager"}`,
		`{"op":"Replace","value":{"name.givenName":"x","emails[type eq \"other\"].value":"y","schemas":["urn:example:Tags"]}}`,
		`{"op":"remove","path":"urn:example:Tags:labels","value":["a"]}`,
	} {
		f.Add(s)
	}
	rt := userType()
	f.Fuzz(func(t *testing.T, operations string) {
		o, err := scim.Decode([]byte(`{"schemas":["` + scim.PatchOpMessage + `"],"Operations":[` + operations + `]}`))
		if err != nil {
			return
		}
		req, err := scim.ParsePatchRequest(o)
		if err != nil {
			return
		}
		r := resource(t, fullUser)
		before := r.Clone()
		for _, accept := range []lenient.Set{0, lenient.All} {
			out, changed, err := Apply(r, req, rt, Options{Accept: accept})
			if !scim.Equal(&before.Object, &r.Object) {
				t.Fatal("Apply changed its argument")
			}
			if err != nil {
				if _, ok := errors.AsType[*scim.Error](err); !ok {
					t.Fatalf("%T: %v", err, err)
				}
				continue
			}
			if err := checkResult(rt, before, out, changed); err != nil {
				t.Fatalf("%v: %s", err, out.AppendJSON(nil))
			}
		}
	})
}
