package mutants

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// The mutants of the areas characteristics and types change the devices of the reference server. This resource type has every
// characteristic, every data type and the required extension asset.
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

// rememberMember returns a wrapper that stores a member, given by its name, of the bodies of matching requests, and returns its value in
// later reads of the same device. mask sends a matching request to next and returns the response for the client.
func rememberMember(m match, name string, mask func(next http.Handler, r *http.Request, sent *scim.Object) *reply) wrap {
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
				rep = serve(next, r)
			}
			if o := rep.object(); o != nil && readDevice(r) && rep.ok() && kept.at(o.Text("id")) != nil {
				o.Set(name, kept.at(o.Text("id")))
				rep.body = o.AppendJSON(nil)
			}
			rep.send(w)
		})
	}
}

// as sends the request r with another body to next and returns the response.
func as(next http.Handler, r *http.Request, body *scim.Object) *reply {
	return serve(next, derivedRequest(r, r.Method, r.URL.Path, r.URL.RawQuery, body.AppendJSON(nil)))
}

// untyped returns a wrapper that accepts any value of an attribute of a new device.
func untyped(name string) wrap {
	return rememberMember(createDevice, name, func(next http.Handler, r *http.Request, sent *scim.Object) *reply {
		rep := as(next, r, sent)
		if rep.status == http.StatusBadRequest {
			sent.Delete(name)
			rep = as(next, r, sent)
		}
		return rep
	})
}

// ignoreDevicePatch returns a wrapper that returns 204 without effect for PATCH requests of devices that have an operation on path. If
// shown is set, later reads nevertheless contain the value of the first operation.
func ignoreDevicePatch(path string, shown bool) wrap {
	return func(next http.Handler) http.Handler {
		return rememberAndShow(withJSON(patchDevice, anyOp(pathHas(path))), func(_ *http.Request, sent *scim.Object, rep *reply) any {
			*rep = reply{status: http.StatusNoContent, header: http.Header{}}
			if !shown {
				return nil
			}
			return valueOf(objectOf(sent.Array("Operations")[0]))
		}, func(o *scim.Object, kept any) { o.Set(path, kept) })(next)
	}
}

// allowSharedValues returns a wrapper that accepts a device whose unique value is already in use, if allowed(known) is true. known reports
// whether an earlier POST contained an identical value, with the same upper and lower case letters.
func allowSharedValues(allowed func(known bool) bool) wrap {
	return func(next http.Handler) http.Handler {
		seen := &names{}
		return instead(createDevice, func(next http.Handler, r *http.Request) *reply {
			sent, err := scim.Decode(readBody(r))
			if err != nil {
				return serve(next, r)
			}
			asset := sent.Complex(assetURN)
			tagKnown := sent.Text("tag") != "" && seen.add("tag "+sent.Text("tag"))
			known := seen.add("number "+asset.Text("number")) || tagKnown
			rep := serve(next, r)
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
	{"characteristics.required-invented", "a device without the required serial gets a generated one",
		before(createDevice, func(o *scim.Object) {
			if o.Text("serial") == "" {
				o.Set("serial", rand.Text())
			}
		})},
	{"characteristics.sub-attribute-optional", "a disk without the required value is stored", before(createDevice, func(o *scim.Object) {
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
	{"characteristics.read-only-created", "POST stores a readOnly attribute", rememberMember(createDevice, "status", as)},
	{"characteristics.read-only-replaced", "PUT stores a readOnly attribute", rememberMember(putDevice, "status", as)},
	{"characteristics.read-only-patched", "PATCH stores a readOnly attribute", ignoreDevicePatch("status", true)},
	{"characteristics.read-only-hidden", "PATCH of a readOnly attribute returns 204 without effect", ignoreDevicePatch("status", false)},
	{"characteristics.read-only-refused", "a readOnly attribute in POST and PUT is rejected with 400",
		refuse(either(createDevice, putDevice), func(o *scim.Object) bool { return o.Text("status") != "" }, func() *reply {
			return failure(400, scim.Mutability)
		})},
	{"characteristics.immutable-same-refused", "a PUT with an unchanged immutable attribute is rejected with 400",
		refuse(putDevice, func(o *scim.Object) bool { return o.Text("vendor") != "" }, func() *reply { return failure(400, scim.Mutability) })},
	{"characteristics.immutable-replaced", "PUT changes an immutable attribute",
		rememberMember(putDevice, "vendor", func(next http.Handler, r *http.Request, sent *scim.Object) *reply {
			rep := as(next, r, sent)
			if rep.status == http.StatusBadRequest {
				sent.Delete("vendor")
				rep = as(next, r, sent)
			}
			return rep
		})},
	{"characteristics.immutable-patched", "PATCH changes an immutable attribute", ignoreDevicePatch("vendor", true)},
	{"characteristics.immutable-hidden", "PATCH of an immutable attribute returns 204 without effect", ignoreDevicePatch("vendor", false)},
	{"characteristics.immutable-never-set", "PUT does not set an immutable attribute", merging(putDevice, func(sent, has *scim.Object) {
		if has.Text("vendor") == "" {
			sent.Delete("vendor")
		}
	})},
	{"characteristics.immutable-first-refused", "PATCH of an unassigned immutable attribute is rejected with 400",
		refusing(withJSON(patchDevice, anyOp(pathHas("vendor"))), 400)},
	{"characteristics.immutable-cleared", "a PUT that omits an immutable attribute removes the attribute",
		rememberAndShow(putDevice, func(_ *http.Request, sent *scim.Object, rep *reply) any {
			if rep.ok() && sent.Text("vendor") == "" {
				return true
			}
			return nil
		}, func(o *scim.Object, _ any) { o.Delete("vendor") })},
	{"characteristics.write-only-echoed", "the POST response contains a writeOnly attribute", echo(createDevice, echoMember("pin"))},
	{"characteristics.never-on-request", "an attribute with returned \"never\" is returned on request",
		afterEach(with(readDevice, "attributes"), func(o *scim.Object) { o.Set("pin", "1234") })},
	{"characteristics.always-unasked", "an attribute with returned \"always\" is returned only on request",
		afterEach(with(readDevice, "attributes"), func(o *scim.Object) { o.Delete("label") })},
	{"characteristics.always-excluded", "an attribute with returned \"always\" can be excluded",
		afterEach(with(readDevice, "excludedAttributes"), func(o *scim.Object) { o.Delete("label") })},
	{"characteristics.request-always", "an attribute with returned \"request\" is always returned",
		afterEach(readDevice, func(o *scim.Object) { o.Set("notes", "x") })},
	{"characteristics.request-never", "an attribute with returned \"request\" is not returned on request",
		afterEach(readDevice, func(o *scim.Object) { o.Delete("notes") })},
	{"characteristics.request-unwritten", "the POST response lacks attributes with returned \"request\"",
		afterEach(createDevice, func(o *scim.Object) { o.Delete("notes") })},
	{"characteristics.unique-shared", "two devices may have the same unique value", allowSharedValues(func(bool) bool { return true })},
	{"characteristics.unique-exact", "uniqueness is checked case-sensitively", allowSharedValues(func(known bool) bool { return !known })},
	{"characteristics.unique-own", "a PUT of a device with its own unique value is rejected with 409",
		instead(putDevice, func(next http.Handler, r *http.Request) *reply {
			sent, err := scim.Decode(readBody(r))
			if has := stored(next, r); err == nil && has != nil && has.Complex(assetURN).Text("number") == sent.Complex(assetURN).Text("number") {
				return failure(409, scim.Uniqueness)
			}
			return serve(next, r)
		})},
	{"characteristics.case-lost", "caseExact values are stored in lower case", before(createDevice, func(o *scim.Object) {
		if code := o.Text("code"); code != "" {
			o.Set("code", strings.ToLower(code))
		}
	})},
	{"characteristics.canonical-exchanged", "a noncanonical value is replaced by the first canonical value",
		before(createDevice, func(o *scim.Object) {
			if o.Text("color") != "" {
				o.Set("color", "red")
			}
		})},
	{"characteristics.canonical-500", "a noncanonical value causes 500", refuse(createDevice, func(o *scim.Object) bool {
		return o.Text("color") != "" && !slices.Contains([]string{"red", "blue"}, o.Text("color"))
	}, func() *reply { return failure(500, "") })},
	{"characteristics.integer-unchecked", "any value is accepted as an integer", untyped("ports")},
	{"characteristics.decimal-unchecked", "any value is accepted as a decimal", untyped("weight")},
	{"characteristics.boolean-unchecked", "any value is accepted as a boolean", untyped("on")},
	{"characteristics.date-time-unchecked", "any value is accepted as a dateTime", untyped("bought")},
	{"characteristics.binary-unchecked", "any value is accepted as binary", untyped("key")},
	{"characteristics.string-unchecked", "any value is accepted as a string", untyped("nickname")},
	{"characteristics.complex-unchecked", "any value is accepted as complex", untyped("owner")},
	{"characteristics.reference-unchecked", "any value is accepted as a reference", untyped("site")},
	{"characteristics.wrong-type-500", "a value of the wrong type causes 500", changeStatus(createDevice, 400, 500)},
	{"characteristics.zone-cut", "the time zone of a dateTime is replaced with Z, and the time is not converted",
		before(createDevice, func(o *scim.Object) {
			if at := o.Text("bought"); at != "" {
				o.Set("bought", strings.Replace(at, "+02:00", "Z", 1))
			}
		})},
	{"characteristics.one-is-no-array", "a single value is returned without its array", afterEach(readDevice, func(o *scim.Object) {
		for _, name := range []string{"aliases", "disks"} {
			if list := o.Array(name); len(list) == 1 {
				o.Set(name, list[0])
			}
		}
	})},
	{"characteristics.primary-twice", "two values have primary true", untyped("disks")},
	{"characteristics.duplicates-returned", "a repeated value is returned twice", rememberMember(createDevice, "aliases", as)},
	{"characteristics.extension-lost", "data of an optional extension is not stored",
		before(createDevice, func(o *scim.Object) { o.Delete(warrantyURN) })},
	{"characteristics.decimal-rounded", "decimals are truncated to integers", afterEach(readDevice, func(o *scim.Object) {
		if _, ok := o.Get("weight"); ok {
			o.Set("weight", 1)
		}
	})},
}

var customTypes = []Mutant{
	{"types.status-200", "POST of a device returns 200", after(createDevice, func(_ *http.Request, rep *reply) {
		if rep.status == 201 {
			rep.status = 200
		}
	})},
	{"types.no-location", "the POST response for a device has no Location header",
		after(createDevice, func(_ *http.Request, rep *reply) { rep.header.Del("Location") })},
	{"types.resource-type-wrong", "meta.resourceType of a device is device",
		afterEach(either(createDevice, readDevice), func(o *scim.Object) { complexOf(o, "meta").Set("resourceType", "device") })},
	{"types.unreadable", "devices cannot be read by id", refusing(readDevice, 404)},
	{"types.unknown-500", "an unknown device id causes 500", changeStatus(readDevice, 404, 500)},
	{"types.put-ignored", "PUT of a device changes nothing", instead(putDevice, unchanged)},
	{"types.patch-501", "PATCH of a device returns 501", refusing(patchDevice, 501)},
	{"types.patch-ignored", "PATCH of a device changes nothing", instead(patchDevice, unchanged)},
	{"types.delete-keeps", "DELETE of a device returns 204 without deleting it",
		instead(deleteDevice, func(http.Handler, *http.Request) *reply {
			return &reply{status: http.StatusNoContent, header: http.Header{}}
		})},
	{"types.filter-ignored", "filters on devices are ignored", query(listDevices, func(q url.Values) { q.Del("filter") })},
	{"types.filter-refused", "filters on devices are rejected with 400", refusing(with(listDevices, "filter"), 400)},
	{"types.malformed-500", "malformed JSON for a device causes 500", changeStatus(createDevice, 400, 500)},
}
