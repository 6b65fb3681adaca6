package observed

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// behavior are the checks of the client's behavior over several exchanges.
func behavior() []check {
	return slices.Concat([]check{
		lookup(), retryAfter(), repeatedFailure(), repeatedCreate(), ifMatch(), ifMatchKnown(),
		{
			ID:           "client.patch-supported",
			Title:        "The client sends no PATCH if patch.supported is false",
			Requirements: reqs("RFC7643-5-04"),
			Level:        interop,
			Why:          "The server rejects each PATCH, so every change is lost or takes a second request.",
			Fix:          "Read patch.supported in the ServiceProviderConfig, and send PUT if patch.supported is false.",
			Watch: func(w *watched) {
				if w.Request.Method == http.MethodPatch {
					w.Holds(!unsupported(w, "patch"), "method", "PUT: patch.supported is false", "PATCH")
				}
			},
		},
		{
			ID:           "client.filter-supported",
			Title:        "The client sends no filter if filter.supported is false",
			Requirements: reqs("RFC7643-5-06"),
			Level:        interop,
			Why:          "A server that ignores the filter returns all users, and the client takes the first.",
			Fix:          "Read filter.supported in the ServiceProviderConfig; if it is false, read all pages and filter in the client.",
			Watch: func(w *watched) {
				if w.Request.Query.Has("filter") {
					w.Holds(!unsupported(w, "filter"), "parameters", "no filter: filter.supported is false", "a filter")
				}
			},
		},
		{
			ID:           "client.sort-supported",
			Title:        "The client sends no sortBy if sort.supported is false",
			Requirements: reqs("RFC7643-5-04"),
			Level:        interop,
			Why:          "A server that cannot sort ignores sortBy, and the client treats an unsorted list as sorted.",
			Fix:          "Read sort.supported in the ServiceProviderConfig, and sort in the client if sort.supported is false.",
			Watch: func(w *watched) {
				if w.Request.Query.Has("sortBy") {
					w.Holds(!unsupported(w, "sort"), "parameters", "no sortBy: sort.supported is false", "sortBy")
				}
			},
		},
		{
			ID:           "client.bulk-limits",
			Title:        "Bulk requests stay within the limits of the server",
			Requirements: reqs("RFC7644-3.7.4-05"),
			Level:        interop,
			Why:          "The server rejects a bulk request that is too large, and performs none of its operations.",
			Fix:          "Read bulk.maxOperations and bulk.maxPayloadSize in the ServiceProviderConfig, and split larger bulk requests.",
			Watch:        bulkLimits,
		},
		{
			ID:           "client.personal-filter",
			Title:        "The client searches for personal data by POST to .search, not by a filter in the URL",
			Requirements: reqs("RFC7644-7.5.2-01"),
			Level:        may,
			Why:          "Proxies and servers log URLs; readers of the logs see the names and addresses of users.",
			Fix:          "POST the filter to .search, if the server supports it.",
			Watch: func(w *watched) {
				if w.Request.Query.Has("filter") {
					filter := strings.ToLower(w.Request.Query.Get("filter"))
					personal := slices.ContainsFunc([]string{"username", "emails", "phonenumbers", "name.", "displayname"}, func(a string) bool {
						return strings.Contains(filter, a)
					})
					w.Holds(!personal || w.Collection() == "Groups", "filter in the URL", "a search by POST", "personal data")
				}
			},
		},
	})
}

// unsupported reports whether the ServiceProviderConfig declares a feature as not supported.
func unsupported(w *watched, feature string) bool {
	supported, known := w.Capabilities.Supports(feature)
	return known && !supported
}

func bulkLimits(w *watched) {
	if w.Request.Path != "/Bulk" || w.Request.Method != http.MethodPost {
		return
	}
	w.Holds(!unsupported(w, "bulk"), "path", "single requests: bulk.supported is false", "a bulk request")
	offer := w.Capabilities.ServiceProviderConfig.Complex("bulk")
	job, _ := scim.Decode(sent(w))
	for _, limit := range []struct {
		name string
		got  int
	}{{"maxOperations", len(job.Array("Operations"))}, {"maxPayloadSize", len(sent(w))}} {
		v, _ := offer.Get(limit.name)
		if most, err := strconv.Atoi(fmt.Sprint(v)); err == nil && most > 0 {
			w.Holds(limit.got <= most, limit.name, "at most "+strconv.Itoa(most), limit.got)
		}
	}
}

// created returns the object that a request creates and its name, "" if it creates no object with a name.
func created(w *watched) (object *scim.Object, name string) {
	if w.Request.Method != http.MethodPost || len(sent(w)) == 0 {
		return nil, ""
	}
	object, err := scim.Decode(sent(w))
	if err != nil {
		return nil, ""
	}
	switch w.Request.Path {
	case "/Users":
		return object, object.Text("userName")
	case "/Groups":
		return object, object.Text("displayName")
	}
	return nil, ""
}

// lookup checks whether the client searches for a resource before creating it.
func lookup() check {
	asked := map[string]bool{}
	listed := map[string]bool{}
	return check{
		ID:    "client.lookup-before-create",
		Title: "The client searches for a user or group before it creates one",
		Level: may,
		Why: "A client that does not search creates duplicates if names are not unique, as with groups, and never finds accounts that " +
			"existed before.",
		Fix: `Send GET /Users?filter=userName eq "..." first, and link the existing user.`,
		Watch: func(w *watched) {
			if w.Request.Method == http.MethodGet {
				asked[w.Collection()+strings.ToLower(w.Request.Query.Get("filter"))] = true
				listed[w.Collection()] = listed[w.Collection()] ||
					!w.Request.Query.Has("filter") && !strings.Contains(strings.TrimPrefix(w.Request.Path, "/"), "/")
			}
			object, value := created(w)
			if value == "" {
				return
			}
			found := listed[w.Collection()]
			for question := range asked {
				filter, same := strings.CutPrefix(question, w.Collection())
				for _, key := range []string{value, object.Text("externalId")} {
					found = found || same && key != "" && strings.Contains(filter, strings.ToLower(key))
				}
			}
			w.Holds(found, "create", "a lookup before the create", "none")
		},
	}
}

const (
	// retryTolerance is how much earlier than requested a client may retry, because clocks differ and responses take time.
	retryTolerance = time.Second
	// inFlight is the time after a 429 in which other requests of the client may arrive: they may have been in flight when the response was
	// sent.
	inFlight = time.Second
)

// retryAfter checks whether the client honors Retry-After.
func retryAfter() check {
	var until, since time.Time
	var refused string // the request that got the Retry-After
	return check{
		ID:    "client.retry-after",
		Title: "After 429 or 503 with Retry-After the client waits for the time in Retry-After",
		Level: interop,
		Why:   "A client that continues is blocked for longer, and slows down all other clients.",
		Fix:   "Stop all requests to the server until the time in Retry-After is over.",
		Watch: func(w *watched) {
			at, request := w.Exchange().At, w.Request.Method+" "+w.Request.Path+"\x00"+string(sent(w))
			if !until.IsZero() && (request == refused || at.Sub(since) > inFlight) {
				early := at.Before(until.Add(-retryTolerance)) || request == refused && at.Before(until) && at.Sub(since) < until.Sub(since)/2
				w.Holds(!early, "time", "not before "+until.UTC().Format(time.TimeOnly)+", by Retry-After", at.UTC().Format(time.TimeOnly))
			}
			if at.After(until) {
				until = time.Time{}
			}
			if end, told := waitOf(w); told && end.After(until) {
				until, since, refused = end, at.Add(w.Exchange().Duration), request
			}
		},
	}
}

// waitOf returns the time until which a response asks the client to wait.
func waitOf(w *watched) (time.Time, bool) {
	after := w.Header.Get("Retry-After")
	if w.Status != http.StatusTooManyRequests && w.Status != http.StatusServiceUnavailable || after == "" {
		return time.Time{}, false
	}
	e := w.Exchange()
	answered := e.At.Add(e.Duration)
	if seconds, err := strconv.Atoi(after); err == nil && seconds >= 0 {
		return answered.Add(time.Duration(seconds) * time.Second), true
	}
	when, err := http.ParseTime(after)
	return when, err == nil
}

// maxRepeats is the maximum number of times that a client may send a rejected request.
const maxRepeats = 3

// repeatedFailure checks whether the client repeats requests that cannot succeed.
func repeatedFailure() check {
	refused := map[string]int{}
	return check{
		ID:    "client.repeats-refused",
		Title: "A request that gets a final status such as 400 or 409 is not sent unchanged more than three times",
		Level: interop,
		Why:   "The server rejects the same request again: the change of the user is never made, and other clients get slower responses.",
		Fix:   "After 400, 403, 404, 405, 409, 412, 413, 415, 422 and 501, do not send the same request again without a change.",
		Watch: func(w *watched) {
			if w.Request.Method == http.MethodGet {
				return
			}
			key := w.Request.Method + " " + w.Request.Path + "\x00" + string(sent(w))
			if refused[key] > 0 {
				w.Holds(refused[key] < maxRepeats, "request", "another method, path or body",
					fmt.Sprintf("the same request for the %dth time", refused[key]+1))
			}
			final := []int{400, 403, 404, 405, 409, 412, 413, 415, 422, 501}
			if slices.Contains(final, w.Status) {
				w.MarkApplicable()
				refused[key]++
			} else {
				delete(refused, key)
			}
		},
	}
}

// repeatedCreate checks whether the client creates the same resource twice.
func repeatedCreate() check {
	there := map[string]bool{}
	return check{
		ID:    "client.creates-once",
		Title: "A created resource is not created again",
		Level: interop,
		Why:   "If the server permits equal names, the user or group then exists twice; otherwise the client gets 409.",
		Fix:   "Store the id in the response to the create; if the response was lost, search for the resource before a second create.",
		Watch: func(w *watched) {
			if w.Request.Method == http.MethodDelete && w.OK() {
				clear(there) // a deleted resource may be created again; the request does not contain its name, so all names are forgotten
			}
			_, value := created(w)
			if value == "" {
				return
			}
			key := w.Collection() + "\x00" + strings.ToLower(value)
			w.Holds(!there[key], "create", "no second create of an existing resource", "a second create")
			there[key] = there[key] || w.Status == http.StatusCreated
		},
	}
}

// versions returns a function for all exchanges in their order. It stores the versions in each response, and returns the versions of the
// request's path that the server returned in earlier exchanges.
func versions() func(w *watched) []string {
	tags := map[string][]string{}
	return func(w *watched) []string {
		before := tags[w.Request.Path]
		add := func(path, tag string) {
			if tag != "" && !slices.Contains(tags[path], tag) {
				tags[path] = append(tags[path], tag)
			}
		}
		if w.OK() {
			for _, o := range w.Resources() {
				if id := o.Text("id"); id != "" {
					add("/"+w.Collection()+"/"+id, o.Complex("meta").Text("version"))
				}
			}
			if id := w.Object().Text("id"); id != "" {
				add("/"+w.Collection()+"/"+id, w.Header.Get("ETag"))
			}
			add(w.Request.Path, w.Header.Get("ETag"))
		}
		return before
	}
}

func changes(w *watched) bool {
	return slices.Contains([]string{http.MethodPut, http.MethodPatch, http.MethodDelete}, w.Request.Method)
}

// ifMatch checks whether the client sends If-Match, so that it does not overwrite changes of other clients.
func ifMatch() check {
	seen := versions()
	return check{
		ID:           "client.if-match",
		Title:        "A client that has received the version of a resource sends If-Match with each change of the resource",
		Requirements: reqs("RFC7644-3.14-05"),
		Level:        may,
		Why:          "Without If-Match, the client overwrites changes that another client has made since the last read.",
		Fix:          "Send the last ETag of the resource in If-Match; after 412, read the resource again before the change.",
		Watch: func(w *watched) {
			if known := seen(w); changes(w) && len(known) > 0 && !unsupported(w, "etag") {
				w.Holds(w.Request.Header.Get("If-Match") != "", "If-Match of the request", "the last version", "nothing")
			}
		},
	}
}

// ifMatchKnown checks whether the versions in If-Match were returned by the server.
func ifMatchKnown() check {
	seen := versions()
	return check{
		ID:           "client.if-match-known",
		Title:        "If-Match contains versions exactly as the server returned them",
		Requirements: reqs("RFC7644-3.14-05"),
		Level:        interop,
		Why:          "An ETag without its quotation marks or its W/ never matches, so the server rejects every change with 412.",
		Fix:          `Send the ETag as received, for example If-Match: W/"3".`,
		Watch: func(w *watched) {
			known := seen(w)
			tag := w.Request.Header.Get("If-Match")
			if tag == "" || tag == "*" || len(known) == 0 {
				return
			}
			for one := range strings.SplitSeq(tag, ",") {
				w.Holds(slices.Contains(known, strings.TrimSpace(one)), "If-Match of the request", "a version that the server has returned", tag)
			}
		},
	}
}
