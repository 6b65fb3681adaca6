package checks

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// trafficResources are the checks of the common attributes of resources.
var trafficResources = []check{
	{
		ID:           "traffic.location",
		Title:        "Wherever a resource comes with a Location header, it is meta.location",
		Requirements: reqs("RFC7644-3.3-08", "RFC7643-3.1-24"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients store either of the two; when they differ one of them leads nowhere.",
		Fix:          "Compute the location once, and use it for the header and for meta.",
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
		Title:        "meta.location of a resource ends in its id",
		Requirements: reqs("RFC7643-3.1-24"),
		Level:        should,
		Fixture:      sample,
		Why:          "A location that leads to another resource makes the client change the wrong one.",
		Fix:          "Build meta.location from the base URL, the endpoint and the id of the resource itself.",
		Watch: func(w *watched) {
			if w.Collection() != "Users" && w.Collection() != "Groups" {
				return
			}
			for _, o := range w.Resources() {
				if location, id := o.Complex("meta").Text("location"), o.Text("id"); location != "" && id != "" {
					w.Holds(strings.HasSuffix(unescaped(location), "/"+id), "meta.location", "an address that ends in /"+id, location)
				}
			}
		},
	},
	{
		ID:           "traffic.location-reachable",
		Title:        "meta.location lies below the base URL that the client uses",
		Requirements: reqs("RFC7643-2.3.7-05"),
		Level:        may,
		Fixture:      sample,
		Why:          "Behind a proxy a server easily names its inner host; clients that follow the location get nowhere.",
		Fix:          "Build locations from the address the client used: configure the public base URL, or trust the proxy's headers.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				if location := o.Complex("meta").Text("location"); strings.Contains(location, "://") {
					w.Holds(strings.HasPrefix(location, w.Base+"/"), "meta.location", "an address below "+w.Base, location)
				}
			}
		},
	},
	{
		ID:           "traffic.id",
		Title:        "Every resource has an id that is a text, and never the word bulkId in it",
		Requirements: reqs("RFC7643-3.1-05", "RFC7643-3.1-11"),
		Level:        must,
		Fixture:      sample,
		Why:          "The id is all a client keeps.",
		Fix:          "Return id with every resource, whatever attributes were asked for.",
		Watch: func(w *watched) {
			if discoveries[w.Collection()] {
				return
			}
			for _, o := range w.Resources() {
				id := o.Text("id")
				w.Holds(id != "" && !strings.Contains(id, "bulkId"), "id of a resource", "a text without bulkId", value(o, "id"))
			}
		},
	},
	{
		ID:           "traffic.id-asked",
		Title:        "A request to one resource answers that resource and no other",
		Requirements: reqs("RFC7643-3.1-07"),
		Level:        must,
		Fixture:      sample,
		Why:          "A client that gets somebody else's resource changes it as its own.",
		Fix:          "Look resources up by the whole id, with regard to letter case.",
		Watch: func(w *watched) {
			collection, id, single := strings.Cut(strings.TrimPrefix(w.Request.Path, "/"), "/")
			if !single || collection != "Users" && collection != "Groups" || strings.Contains(id, "/") || id == ".search" || !w.OK() ||
				w.IsMessage() || w.Object().Text("id") == "" {
				return
			}
			w.Holds(w.Object().Text("id") == unescaped(id), "id in the answer", unescaped(id), w.Object().Text("id"))
		},
	},
	{
		ID:           "traffic.resource-type",
		Title:        "meta.resourceType of users and groups is User and Group",
		Requirements: reqs("RFC7643-3.1-20"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients tell users from groups by it, letter by letter.",
		Fix:          "Write the name of the resource type as /ResourceTypes lists it.",
		Watch: func(w *watched) {
			want := map[string]string{"Users": "User", "Groups": "Group"}[w.Collection()]
			for _, o := range w.Resources() {
				if kind, there := o.Complex("meta").Get("resourceType"); there && want != "" {
					w.Holds(kind == want, "meta.resourceType", want, kind)
				}
			}
		},
	},
	{
		ID:           "traffic.date-times",
		Title:        "meta.created and meta.lastModified are dates with times, everywhere",
		Requirements: reqs("RFC7643-2.3.5-01", "RFC7643-3.1-21"),
		Level:        must,
		Fixture:      sample,
		Why:          "Incremental imports compare them; one that cannot be read ends the import.",
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
		Title:        "No resource was modified before it was created",
		Requirements: reqs("RFC7643-3.1-22"),
		Level:        must,
		Fixture:      sample,
		Why:          "Incremental imports skip a resource whose time lies before the last import.",
		Fix:          "Take both times from one clock, and set lastModified on creation too.",
		Watch: func(w *watched) {
			for _, o := range w.Resources() {
				created, err1 := time.Parse(time.RFC3339, o.Complex("meta").Text("created"))
				modified, err2 := time.Parse(time.RFC3339, o.Complex("meta").Text("lastModified"))
				if err1 == nil && err2 == nil {
					w.Holds(!modified.Before(created), "meta.lastModified", "not before "+o.Complex("meta").Text("created"),
						o.Complex("meta").Text("lastModified"))
				}
			}
		},
	},
	{
		ID:           "traffic.etag-is-version",
		Title:        "Wherever a resource comes with an ETag, it is meta.version",
		Requirements: reqs("RFC7643-3.1-25"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients send back whichever they kept; when the two differ every change is refused as stale.",
		Fix:          "Compute the version once, W/ and quotes included.",
		Watch: func(w *watched) {
			version, tag := w.Object().Complex("meta").Text("version"), w.Header.Get("ETag")
			if w.OK() && version != "" && tag != "" {
				w.Holds(version == tag, "ETag", "meta.version, "+version, tag)
			}
		},
	},
	{
		ID:           "traffic.counters",
		Title:        "Every list has a totalResults that is an integer and not smaller than the page",
		Requirements: reqs("RFC7644-3.4.2-04", "RFC7644-3.4.2-05"),
		Level:        must,
		Fixture:      sample,
		Why:          "Clients loop until they have seen totalResults items.",
		Fix:          "Count all matches of the query, and write counters as JSON integers.",
		Watch: func(w *watched) {
			if !w.OK() || !slices.Contains(texts(w.Object(), "schemas"), scim.ListResponseMessage) {
				return
			}
			if has(w.Object(), "nextCursor") && !has(w.Object(), "totalResults") {
				return // RFC 9865 lets a list with cursors leave it out
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
