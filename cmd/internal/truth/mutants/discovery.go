package mutants

import (
	"net/http"
	"strconv"

	"github.com/scimwright/scimwright/scim"
)

var (
	config        = on("GET", "ServiceProviderConfig", false)
	listSchemas   = on("GET", "Schemas", false)
	listTypes     = on("GET", "ResourceTypes", false)
	userSchema    = func(o *scim.Object) bool { return o.Text("id") == scim.UserSchema }
	definition    = func(o *scim.Object, name string) *scim.Object { return find(o, "attributes", "name", name) }
	readDiscovery = func(collection string) match { return on("GET", collection, true) }
)

// find returns the element of an array that has a member with this string value, or nil.
func find(o *scim.Object, array, member, text string) *scim.Object {
	for _, item := range o.Array(array) {
		if e, ok := item.(*scim.Object); ok && e.Text(member) == text {
			return e
		}
	}
	return nil
}

// page reduces a list to the page given by startIndex and count of the request.
func page(r *http.Request, rep *reply) {
	o := rep.object()
	start, err1 := strconv.Atoi(r.URL.Query().Get("startIndex"))
	count, err2 := strconv.Atoi(r.URL.Query().Get("count"))
	items := o.Array("Resources")
	if err1 != nil || err2 != nil || count < 0 || start < 1 || start > len(items) {
		return
	}
	o.Set("Resources", items[start-1:min(len(items), start-1+count)])
	rep.body = o.AppendJSON(nil)
}

var discovery = []Mutant{
	{"discovery.config-without-patch", "patch is missing from the ServiceProviderConfig",
		afterBody(config, func(o *scim.Object) { o.Delete("patch") })},
	{"discovery.config-supported-text", "etag.supported is a string",
		afterBody(config, func(o *scim.Object) { complexOf(o, "etag").Set("supported", "true") })},
	{"discovery.config-without-schemas", "the ServiceProviderConfig has no schemas",
		afterBody(config, func(o *scim.Object) { o.Delete("schemas") })},
	{"discovery.limits-text", "maxResults is a string",
		afterBody(config, func(o *scim.Object) { complexOf(o, "filter").Set("maxResults", "200") })},
	{"discovery.limits-missing", "bulk in the ServiceProviderConfig has no maxOperations",
		afterBody(config, func(o *scim.Object) { o.Complex("bulk").Delete("maxOperations") })},
	{"discovery.scheme-without-name", "an authentication scheme has no name", afterBody(config, func(o *scim.Object) {
		for _, item := range o.Array("authenticationSchemes") {
			objectOf(item).Delete("name")
		}
	})},
	{"discovery.type-without-endpoint", "resource types have no endpoint",
		afterEach(listTypes, func(o *scim.Object) { o.Delete("endpoint") })},
	{"discovery.types-empty", "/ResourceTypes returns an empty list",
		afterBody(listTypes, func(o *scim.Object) { o.Set("Resources", []any{}); o.Set("totalResults", 0) })},
	{"discovery.type-not-found", "a single resource type cannot be read",
		instead(readDiscovery("ResourceTypes"), func(http.Handler, *http.Request) *reply { return failure(404, "") })},
	{"discovery.schemas-empty", "/Schemas returns an empty list",
		afterBody(listSchemas, func(o *scim.Object) { o.Set("Resources", []any{}); o.Set("totalResults", 0) })},
	{"discovery.schema-unlisted", "the User schema is missing from /Schemas", afterBody(listSchemas, func(o *scim.Object) {
		var rest []any
		for _, item := range o.Array("Resources") {
			if !userSchema(objectOf(item)) {
				rest = append(rest, item)
			}
		}
		o.Set("Resources", rest)
		o.Set("totalResults", len(rest))
	})},
	{"discovery.schema-not-found", "GET of a single schema returns 404",
		instead(readDiscovery("Schemas"), func(http.Handler, *http.Request) *reply { return failure(404, "") })},
	{"discovery.attribute-type-unknown", "an attribute definition has a type that no RFC defines",
		afterEach(listSchemas, func(o *scim.Object) {
			if d := definition(o, "userName"); d != nil {
				d.Set("type", "text")
			}
		})},
	{"discovery.attribute-without-multi-valued", "an attribute definition does not have the member multiValued",
		afterEach(listSchemas, func(o *scim.Object) {
			if d := definition(o, "userName"); d != nil {
				d.Delete("multiValued")
			}
		})},
	{"discovery.password-readable", "the schema declares password as readable", afterEach(listSchemas, func(o *scim.Object) {
		if d := definition(o, "password"); d != nil {
			d.Set("returned", "default")
		}
	})},
	{"discovery.user-name-optional", "the schema declares userName as optional", afterEach(listSchemas, func(o *scim.Object) {
		if d := definition(o, "userName"); d != nil {
			d.Set("required", false)
		}
	})},
	{"discovery.message-schema-listed", "/Schemas lists the schema of a message", afterBody(listSchemas, func(o *scim.Object) {
		message := scim.NewObject(scim.Member{Name: "id", Value: scim.PatchOpMessage}, scim.Member{Name: "attributes", Value: []any{
			scim.NewObject(scim.Member{Name: "name", Value: "x"}, scim.Member{Name: "type", Value: "string"},
				scim.Member{Name: "multiValued", Value: false}),
		}})
		o.Set("Resources", append(o.Array("Resources"), message))
		o.Set("totalResults", len(o.Array("Resources")))
	})},
	{"discovery.paged", "/Schemas is paged by startIndex and count", after(listSchemas, page)},
	{"discovery.writable", "PUT on the ServiceProviderConfig succeeds",
		instead(on("PUT", "ServiceProviderConfig", false), func(next http.Handler, r *http.Request) *reply {
			return serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil))
		})},
}
