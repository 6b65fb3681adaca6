package checks

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// trafficResources are the checks of the common attributes of resources.
var trafficResources = []check{
	{
		ID:           "traffic.location",
		Title:        "The headers Location and Content-Location of a resource, if present, equal meta.location",
		Requirements: reqs("RFC7644-3.3-08", "RFC7643-3.1-24"),
		Level:        must,
		Fixture:      sample,
		Why:          "Some clients store the header, others meta.location; if the two differ, some of the clients later get 404.",
		Fix:          "Compute the URI of a resource once, and use it for meta.location and for the headers Location and Content-Location.",
		Watch: func(w *watched) {
			location := value(w.Object(), "meta.location")
			if !w.OK() || location == nil {
				return
			}
			for _, header := range []string{"Location", "Content-Location"} {
				if sent := w.Header.Get(header); sent != "" {
					w.Holds(sent == location, header, "meta.location, "+asText(location), sent)
				}
			}
		},
	},
	{
		ID:           "traffic.location-of-id",
		Title:        "meta.location of a resource ends with its id",
		Requirements: reqs("RFC7643-3.1-24"),
		Level:        should,
		Fixture:      sample,
		Why:          "A client that uses a location with the id of another resource changes the wrong resource.",
		Fix:          "Build meta.location from the base URL, the endpoint and the id of the resource itself.",
		Watch: func(w *watched) {
			if w.Collection() != "Users" && w.Collection() != "Groups" {
				return
			}
			for _, o := range w.Resources() {
				if location, id := o.Complex("meta").Text("location"), o.Text("id"); location != "" && id != "" {
					w.Holds(strings.HasSuffix(unescaped(location), "/"+id), "meta.location", "a URI that ends in /"+id, location)
				}
			}
		},
	},
	{
		ID:           "traffic.location-reachable",
		Title:        "meta.location starts with the base URL that the client uses",
		Requirements: reqs("RFC7643-2.3.7-05"),
		Level:        may,
		Fixture:      sample,
		Why:          "A server behind a proxy may use its internal host name; clients cannot reach such a location.",
		Fix:          "Build locations from the address that the client used: configure the public base URL, or use the header Forwarded.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				if location := o.Complex("meta").Text("location"); strings.Contains(location, "://") {
					w.Holds(strings.HasPrefix(location, w.Base+"/"), "meta.location", "a URI that starts with "+w.Base, location)
				}
			}
		},
	},
	{
		ID:           "traffic.id",
		Title:        "Every resource has an id that is a string and does not contain the word bulkId",
		Requirements: reqs("RFC7643-3.1-05", "RFC7643-3.1-11"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients store only the id of a resource; without it, they cannot change or delete the resource later.",
		Fix:          "Return id with every resource, regardless of the requested attributes; generate ids without the word bulkId.",
		Watch: func(w *watched) {
			if discoveries[w.Collection()] || w.Request.Method == http.MethodDelete {
				return // delete.status and delete.group-status report a body of the response to DELETE
			}
			for _, o := range w.Resources() {
				id := o.Text("id")
				w.Holds(id != "" && !strings.Contains(id, "bulkId"), "id of a resource", "a string without bulkId", value(o, "id"))
			}
		},
	},
	{
		ID:           "traffic.id-asked",
		Title:        "A request to the path of a resource returns the resource with the id in the path",
		Requirements: reqs("RFC7643-3.1-07"),
		Level:        must,
		Fixture:      sample,
		Why:          "A client that receives another user than requested changes or deactivates the wrong account.",
		Fix:          "Select the resource whose id equals the whole id in the path, case-sensitively.",
		Watch: func(w *watched) {
			collection, id, single := strings.Cut(strings.TrimPrefix(w.Request.Path, "/"), "/")
			if !single || collection != "Users" && collection != "Groups" || strings.Contains(id, "/") || id == ".search" || !w.OK() ||
				w.IsMessage() || w.Object().Text("id") == "" {
				return
			}
			w.Holds(w.Object().Text("id") == unescaped(id), "id in the response", unescaped(id), w.Object().Text("id"))
		},
	},
	{
		ID:           "traffic.resource-type",
		Title:        "meta.resourceType is User for users and Group for groups",
		Requirements: reqs("RFC7643-3.1-20"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients distinguish users from groups by the exact value of resourceType.",
		Fix:          "Set meta.resourceType to the name of the resource type in /ResourceTypes: User or Group.",
		Watch: func(w *watched) {
			want := map[string]string{"Users": "User", "Groups": "Group"}[w.Collection()]
			for _, o := range w.Resources() {
				// The checks that send forgedType report a target that stores meta as sent.
				if kind, there := o.Complex("meta").Get("resourceType"); there && want != "" && kind != forgedType {
					w.Holds(kind == want, "meta.resourceType", want, kind)
				}
			}
		},
	},
	{
		ID:           "traffic.date-times",
		Title:        "meta.created and meta.lastModified are valid dateTime values in every response",
		Requirements: reqs("RFC7643-2.3.5-01", "RFC7643-3.1-21"),
		Level:        must,
		Fixture:      sample,
		Why:          "Incremental imports compare these times; an invalid time aborts the import.",
		Fix:          "Format times as RFC 3339 wherever meta is written.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				for _, name := range []string{"created", "lastModified"} {
					if v, there := o.Complex("meta").Get(name); there && v != nil {
						text, _ := v.(string)
						w.Holds(dateTime.MatchString(text), "meta."+name, "a date with a time, such as 2026-01-31T10:20:30Z", v)
					}
				}
			}
		},
	},
	{
		ID:           "traffic.modified-after-created",
		Title:        "meta.lastModified of a resource is not before its meta.created",
		Requirements: reqs("RFC7643-3.1-22"),
		Level:        must,
		Fixture:      sample,
		Why:          "Incremental imports skip resources with a lastModified before the last import, and so miss a new user.",
		Fix:          "Take both times from the same clock, and set lastModified on creation too.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				created, err1 := schema.ParseDateTime(o.Complex("meta").Text("created"))
				modified, err2 := schema.ParseDateTime(o.Complex("meta").Text("lastModified"))
				if err1 == nil && err2 == nil {
					w.Holds(!modified.Before(created), "meta.lastModified", "not before "+o.Complex("meta").Text("created"),
						o.Complex("meta").Text("lastModified"))
				}
			}
		},
	},
	{
		ID:           "traffic.etag-is-version",
		Title:        "The ETag header of a resource equals meta.version",
		Requirements: reqs("RFC7643-3.1-25"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients send one of the two values in If-Match; if they differ, changes with one of them are always rejected with 412.",
		Fix:          `Send the same string in the ETag header and in meta.version, for example W/"3".`,
		Watch: func(w *watched) {
			version, tag := w.Object().Complex("meta").Text("version"), w.Header.Get("ETag")
			if w.OK() && version != "" && tag != "" {
				w.Holds(version == tag, "ETag", "meta.version, "+version, tag)
			}
		},
	},
	{
		ID: "traffic.counters",
		Title: "In every list, totalResults is an integer and at least the number of items; itemsPerPage, if present, is the number of " +
			"items",
		Requirements: reqs("RFC7644-3.4.2-04", "RFC7644-3.4.2.4-09"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients read pages until they have totalResults items; with a wrong number, they miss users or never stop.",
		Fix: "Set totalResults to the number of all matches and itemsPerPage to the number of items in the page, not to the requested " +
			"count or to a fixed number, as JSON integers.",
		Watch: func(w *watched) {
			if !w.OK() || !slices.Contains(texts(w.Object(), "schemas"), scim.ListResponseMessage) {
				return
			}
			if has(w.Object(), "nextCursor") && !has(w.Object(), "totalResults") {
				return // a list with cursors may omit totalResults (RFC 9865)
			}
			items := len(w.Object().Array("Resources"))
			w.Holds(w.Total() >= items, "totalResults", "an integer of "+strconv.Itoa(items)+" or more", value(w.Object(), "totalResults"))
			if has(w.Object(), "itemsPerPage") {
				w.Holds(scim.Equal(value(w.Object(), "itemsPerPage"), jsonInt(items)), "itemsPerPage", strconv.Itoa(items),
					value(w.Object(), "itemsPerPage"))
			}
		},
	},
}
