package mutants

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// The mutants of these areas break a type of the reference server: devices, which have every characteristic and every data
// type, with the required extension asset.
const (
	assetURN    = "urn:example:schemas:Asset"
	warrantyURN = "urn:example:schemas:Warranty"
)

var (
	createDevice = on("POST", "Devices", false)
	readDevice   = on("GET", "Devices", true)
	listDevices  = on("GET", "Devices", false)
	putDevice    = on("PUT", "Devices", true)
	patchDevice  = on("PATCH", "Devices", true)
	deleteDevice = on("DELETE", "Devices", true)
)

// remembered shows a member of the requests' bodies in later reads of the same object, whatever the server made of it.
func remembered(m match, name string, mask func(next http.Handler, r *http.Request, sent *scim.Object) *reply) wrap {
	return func(next http.Handler) http.Handler {
		kept := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var rep *reply
			if sent, err := scim.Decode(readBody(r)); m(r) && err == nil {
				v, given := sent.Get(name)
				rep = mask(next, r, sent)
				if id := rep.object().Text("id"); given && rep.ok() && id != "" {
					kept.put(id, v)
				}
			} else {
				rep = ask(next, r)
			}
			if o := rep.object(); readDevice(r) && rep.ok() && kept.at(o.Text("id")) != nil {
				o.Set(name, kept.at(o.Text("id")))
				rep.body = o.AppendJSON(nil)
			}
			rep.send(w)
		})
	}
}

// as sends a request with another body.
func as(next http.Handler, r *http.Request, body *scim.Object) *reply {
	return ask(next, alike(r, r.Method, r.URL.Path, r.URL.RawQuery, body.AppendJSON(nil)))
}

// untyped stores whatever comes as the value of an attribute.
func untyped(name string) wrap {
	return remembered(createDevice, name, func(next http.Handler, r *http.Request, sent *scim.Object) *reply {
		rep := as(next, r, sent)
		if rep.status == http.StatusBadRequest {
			sent.Delete(name)
			rep = as(next, r, sent)
		}
		return rep
	})
}

// quietDevice answers 204 to PATCH requests of devices with an operation on the path, and shows the value when asked to.
func quietDevice(path string, shown bool) wrap {
	return func(next http.Handler) http.Handler {
		return stained(bodied(patchDevice, anyOp(pathHas(path))), func(_ *http.Request, sent *scim.Object, rep *reply) any {
			*rep = reply{status: http.StatusNoContent, header: http.Header{}}
			if !shown {
				return nil
			}
			return valueOf(sent.Array("Operations")[0].(*scim.Object))
		}, func(o *scim.Object, kept any) { o.Set(path, kept) })(next)
	}
}

// sharing lets devices share what has to be unique when allowed says so of a value that is in use, as it was sent.
func sharing(allowed func(known bool) bool) wrap {
	return func(next http.Handler) http.Handler {
		seen := &names{}
		return instead(createDevice, func(next http.Handler, r *http.Request) *reply {
			sent, err := scim.Decode(readBody(r))
			if err != nil {
				return ask(next, r)
			}
			asset := sent.Complex(assetURN)
			tagKnown := sent.Text("tag") != "" && seen.add("tag "+sent.Text("tag"))
			known := seen.add("number "+asset.Text("number")) || tagKnown
			rep := ask(next, r)
			if rep.status == http.StatusConflict && allowed(known) {
				sent.Delete("tag")
				asset.Set("number", rand.Text())
				rep = as(next, r, sent)
			}
			return rep
		})(next)
	}
}

var characteristics = []Mutant{
	{"characteristics.required-invented", "a device without serial gets one", before(createDevice, func(o *scim.Object) {
		if o.Text("serial") == "" {
			o.Set("serial", rand.Text())
		}
	})},
	{"characteristics.sub-attribute-optional", "a disk without value is stored", before(createDevice, func(o *scim.Object) {
		for _, v := range o.Array("disks") {
			if d, ok := v.(*scim.Object); ok && d.Text("value") == "" {
				d.Set("value", "x")
			}
		}
	})},
	{"characteristics.extension-optional", "a device without its required extension is stored", before(createDevice, func(o *scim.Object) {
		if o.Complex(assetURN) == nil {
			o.Set(assetURN, scim.NewObject(scim.Member{Name: "number", Value: rand.Text()}))
			o.Set("schemas", append(o.Array("schemas"), assetURN))
		}
	})},
	{"characteristics.read-only-created", "POST stores a readOnly attribute", remembered(createDevice, "status", as)},
	{"characteristics.read-only-replaced", "PUT stores a readOnly attribute", remembered(putDevice, "status", as)},
	{"characteristics.read-only-patched", "PATCH stores a readOnly attribute", quietDevice("status", true)},
	{"characteristics.read-only-hidden", "PATCH of a readOnly attribute answers 204", quietDevice("status", false)},
	{"characteristics.read-only-refused", "a readOnly attribute in POST and PUT answers 400",
		refuse(either(createDevice, putDevice), func(o *scim.Object) bool { return o.Text("status") != "" }, func() *reply {
			return failure(400, scim.Mutability)
		})},
	{"characteristics.immutable-same-refused", "a PUT with an immutable attribute answers 400",
		refuse(putDevice, func(o *scim.Object) bool { return o.Text("vendor") != "" }, func() *reply { return failure(400, scim.Mutability) })},
	{"characteristics.immutable-replaced", "PUT changes an immutable attribute",
		remembered(putDevice, "vendor", func(next http.Handler, r *http.Request, sent *scim.Object) *reply {
			rep := as(next, r, sent)
			if rep.status == http.StatusBadRequest {
				sent.Delete("vendor")
				rep = as(next, r, sent)
			}
			return rep
		})},
	{"characteristics.immutable-patched", "PATCH changes an immutable attribute", quietDevice("vendor", true)},
	{"characteristics.immutable-hidden", "PATCH of an immutable attribute answers 204", quietDevice("vendor", false)},
	{"characteristics.immutable-never-set", "PUT does not set an immutable attribute", merging(putDevice, func(sent, has *scim.Object) {
		if has.Text("vendor") == "" {
			sent.Delete("vendor")
		}
	})},
	{"characteristics.immutable-first-refused", "PATCH of an immutable attribute without a value answers 400",
		refusing(bodied(patchDevice, anyOp(pathHas("vendor"))), 400)},
	{"characteristics.immutable-cleared", "a PUT without an immutable attribute removes it",
		stained(putDevice, func(_ *http.Request, sent *scim.Object, rep *reply) any {
			if rep.ok() && sent.Text("vendor") == "" {
				return true
			}
			return nil
		}, func(o *scim.Object, _ any) { o.Delete("vendor") })},
	{"characteristics.write-only-echoed", "the answer to POST has a writeOnly attribute", echo(createDevice, echoMember("pin"))},
	{"characteristics.never-on-request", "an attribute that is never returned can be asked for",
		afterEach(with(readDevice, "attributes"), func(o *scim.Object) { o.Set("pin", "1234") })},
	{"characteristics.always-unasked", "an attribute that is always returned has to be asked for",
		afterEach(with(readDevice, "attributes"), func(o *scim.Object) { o.Delete("label") })},
	{"characteristics.always-excluded", "an attribute that is always returned can be excluded",
		afterEach(with(readDevice, "excludedAttributes"), func(o *scim.Object) { o.Delete("label") })},
	{"characteristics.request-always", "an attribute that is returned on request is always there",
		afterEach(readDevice, func(o *scim.Object) { o.Set("notes", "x") })},
	{"characteristics.request-never", "an attribute that is returned on request cannot be asked for",
		afterEach(readDevice, func(o *scim.Object) { o.Delete("notes") })},
	{"characteristics.request-unwritten", "the answer to POST lacks what is returned on request",
		afterEach(createDevice, func(o *scim.Object) { o.Delete("notes") })},
	{"characteristics.unique-shared", "devices may share a unique value", sharing(func(bool) bool { return true })},
	{"characteristics.unique-exact", "a unique value is taken in its own letter case only", sharing(func(known bool) bool { return !known })},
	{"characteristics.unique-own", "a device conflicts with itself", instead(putDevice, func(next http.Handler, r *http.Request) *reply {
		sent, err := scim.Decode(readBody(r))
		if has := stored(next, r); err == nil && has != nil && has.Complex(assetURN).Text("number") == sent.Complex(assetURN).Text("number") {
			return failure(409, scim.Uniqueness)
		}
		return ask(next, r)
	})},
	{"characteristics.case-lost", "caseExact values are stored in lower case", before(createDevice, func(o *scim.Object) {
		if code := o.Text("code"); code != "" {
			o.Set("code", strings.ToLower(code))
		}
	})},
	{"characteristics.canonical-exchanged", "another value becomes the first canonical one", before(createDevice, func(o *scim.Object) {
		if o.Text("color") != "" {
			o.Set("color", "red")
		}
	})},
	{"characteristics.canonical-500", "another value than the canonical ones answers 500", refuse(createDevice, func(o *scim.Object) bool {
		return o.Text("color") != "" && !slices.Contains([]string{"red", "blue"}, o.Text("color"))
	}, func() *reply { return failure(500, "") })},
	{"characteristics.integer-unchecked", "anything is an integer", untyped("ports")},
	{"characteristics.decimal-unchecked", "anything is a decimal", untyped("weight")},
	{"characteristics.boolean-unchecked", "anything is a boolean", untyped("on")},
	{"characteristics.date-time-unchecked", "anything is a dateTime", untyped("bought")},
	{"characteristics.binary-unchecked", "anything is binary", untyped("key")},
	{"characteristics.string-unchecked", "anything is a text", untyped("nickname")},
	{"characteristics.complex-unchecked", "anything is complex", untyped("owner")},
	{"characteristics.reference-unchecked", "anything is a reference", untyped("site")},
	{"characteristics.wrong-type-500", "a value of the wrong type answers 500", turned(createDevice, 400, 500)},
	{"characteristics.zone-cut", "the zone of a dateTime is cut off", before(createDevice, func(o *scim.Object) {
		if at := o.Text("bought"); at != "" {
			o.Set("bought", strings.Replace(at, "+02:00", "Z", 1))
		}
	})},
	{"characteristics.one-is-no-array", "one value is returned without its array", afterEach(readDevice, func(o *scim.Object) {
		for _, name := range []string{"aliases", "disks"} {
			if list := o.Array(name); len(list) == 1 {
				o.Set(name, list[0])
			}
		}
	})},
	{"characteristics.primary-twice", "two values are primary", untyped("disks")},
	{"characteristics.duplicates-returned", "a repeated value is returned twice", remembered(createDevice, "aliases", as)},
	{"characteristics.extension-lost", "data of an optional extension is not stored",
		before(createDevice, func(o *scim.Object) { o.Delete(warrantyURN) })},
	{"characteristics.decimal-rounded", "decimals lose their fraction", afterEach(readDevice, func(o *scim.Object) {
		if _, ok := o.Get("weight"); ok {
			o.Set("weight", 1)
		}
	})},
}

var customTypes = []Mutant{
	{"types.status-200", "a new device answers 200", after(createDevice, func(_ *http.Request, rep *reply) {
		if rep.status == 201 {
			rep.status = 200
		}
	})},
	{"types.no-location", "a new device has no Location",
		after(createDevice, func(_ *http.Request, rep *reply) { rep.header.Del("Location") })},
	{"types.resource-type-wrong", "meta.resourceType of a device is device",
		afterEach(either(createDevice, readDevice), func(o *scim.Object) { o.Complex("meta").Set("resourceType", "device") })},
	{"types.unreadable", "devices cannot be read by id", refusing(readDevice, 404)},
	{"types.unknown-500", "an unknown device answers 500", turned(readDevice, 404, 500)},
	{"types.put-ignored", "PUT of a device changes nothing", instead(putDevice, unchanged)},
	{"types.patch-501", "PATCH of a device answers 501", refusing(patchDevice, 501)},
	{"types.patch-ignored", "PATCH of a device changes nothing", instead(patchDevice, unchanged)},
	{"types.delete-keeps", "DELETE of a device answers 204 and keeps it", instead(deleteDevice, func(http.Handler, *http.Request) *reply {
		return &reply{status: http.StatusNoContent, header: http.Header{}}
	})},
	{"types.filter-ignored", "filters on devices are ignored", query(listDevices, func(q url.Values) { q.Del("filter") })},
	{"types.filter-refused", "filters on devices answer 400", refusing(with(listDevices, "filter"), 400)},
	{"types.malformed-500", "malformed JSON for a device answers 500", turned(createDevice, 400, 500)},
}
