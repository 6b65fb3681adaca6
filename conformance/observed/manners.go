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

// manners are the checks of how the client goes about it, over several exchanges.
func manners() []check {
	return slices.Concat([]check{
		lookup(), retryAfter(), repeatedFailure(), repeatedCreate(), ifMatch(), ifMatchKnown(),
		{
			ID:           "client.patch-supported",
			Title:        "The client does not PATCH a server that says it cannot",
			Requirements: reqs("RFC7643-5-04"),
			Level:        interop,
			Why:          "Every change then takes two requests, the first of which fails.",
			Fix:          "Read patch.supported in the ServiceProviderConfig, and PUT.",
			Watch: func(w *watched) {
				if w.Request.Method == http.MethodPatch {
					w.Holds(!unsupported(w, "patch"), "method", "PUT: patch.supported is false", "PATCH")
				}
			},
		},
		{
			ID:           "client.filter-supported",
			Title:        "The client does not filter at a server that says it cannot",
			Requirements: reqs("RFC7643-5-06"),
			Level:        interop,
			Why:          "A server that ignores the filter answers everybody, and the client takes the first.",
			Fix:          "Read filter.supported in the ServiceProviderConfig, and page through the list.",
			Watch: func(w *watched) {
				if w.Request.Query.Has("filter") {
					w.Holds(!unsupported(w, "filter"), "parameters", "no filter: filter.supported is false", "a filter")
				}
			},
		},
		{
			ID:           "client.sort-supported",
			Title:        "The client does not ask a server to sort that says it cannot",
			Requirements: reqs("RFC7643-5-04"),
			Level:        interop,
			Why:          "A server that cannot sort ignores it.",
			Fix:          "Read sort.supported in the ServiceProviderConfig, and sort in the client.",
			Watch: func(w *watched) {
				if w.Request.Query.Has("sortBy") {
					w.Holds(!unsupported(w, "sort"), "parameters", "no sortBy: sort.supported is false", "sortBy")
				}
			},
		},
		{
			ID:           "client.bulk-limits",
			Title:        "Bulk jobs stay within what the server offers",
			Requirements: reqs("RFC7644-3.7.4-05"),
			Level:        interop,
			Why:          "A job that is too large is refused as a whole.",
			Fix:          "Read bulk in the ServiceProviderConfig, and split the job.",
			Watch:        bulkLimits,
		},
		{
			ID:           "client.personal-filter",
			Title:        "Personal data is searched for by POST to .search",
			Requirements: reqs("RFC7644-7.5.2-01"),
			Level:        may,
			Why:          "Addresses are logged by everything on the way.",
			Fix:          "POST the filter to .search, where the server offers it.",
			Watch: func(w *watched) {
				if w.Request.Query.Has("filter") {
					filter := strings.ToLower(w.Request.Query.Get("filter"))
					personal := slices.ContainsFunc([]string{"username", "emails", "phonenumbers", "name.", "displayname"}, func(a string) bool {
						return strings.Contains(filter, a)
					})
					w.Holds(!personal || w.Collection() == "Groups", "filter in the address", "a search by POST", "personal data")
				}
			},
		},
	})
}

// unsupported tells whether the ServiceProviderConfig rules a feature out.
func unsupported(w *watched, feature string) bool {
	supported, known := w.Capabilities.Supports(feature)
	return known && !supported
}

func bulkLimits(w *watched) {
	if w.Request.Path != "/Bulk" || w.Request.Method != http.MethodPost {
		return
	}
	w.Holds(!unsupported(w, "bulk"), "path", "single requests: bulk.supported is false", "a bulk job")
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

// created returns what a request creates and what it is called, "" when it creates nothing that has a name.
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

// lookup judges whether the client looks before it creates.
func lookup() check {
	asked := map[string]bool{}
	listed := map[string]bool{}
	return check{
		ID:    "client.lookup-before-create",
		Title: "The client looks for a user or group before it creates one",
		Level: may,
		Why: "Who creates without looking makes duplicates where names are not unique, as with groups, and never finds accounts that were " +
			"there before.",
		Fix: `Ask GET /Users?filter=userName eq "..." first, and link what is there.`,
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
			w.Holds(found, "create", "a lookup before it", "none")
		},
	}
}

const (
	// impatience is how much earlier than it was told a client may come back: clocks and answers under way take their time.
	impatience = time.Second
	// underWay is how long other requests of the client may follow a 429: they were on their way when the answer came.
	underWay = time.Second
)

// retryAfter judges whether the client waits when it is told to.
func retryAfter() check {
	var until, since time.Time
	var refused string // the request that was told to wait
	return check{
		ID:    "client.retry-after",
		Title: "After 429 or 503 with Retry-After the client waits that long",
		Level: interop,
		Why:   "A client that goes on is shut out for longer, and slows down everybody else.",
		Fix:   "Stop all requests to the server until the time in Retry-After is over.",
		Watch: func(w *watched) {
			at, request := w.Exchange().At, w.Request.Method+" "+w.Request.Path+"\x00"+string(sent(w))
			if !until.IsZero() && (request == refused || at.Sub(since) > underWay) {
				early := at.Before(until.Add(-impatience)) || request == refused && at.Before(until) && at.Sub(since) < until.Sub(since)/2
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

// waitOf is until when the answer of an exchange asks the client to wait.
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

// tolerated is how often the client may send again what was refused.
const tolerated = 3

// repeatedFailure judges whether the client repeats what cannot succeed.
func repeatedFailure() check {
	refused := map[string]int{}
	return check{
		ID:    "client.repeats-refused",
		Title: "What was refused with 4xx is not sent again unchanged, over and over",
		Level: interop,
		Why:   "The answer will be the same; the request only costs.",
		Fix:   "Take 400, 403, 404, 409, 412 and 413 for final until something changes.",
		Watch: func(w *watched) {
			if w.Request.Method == http.MethodGet {
				return
			}
			key := w.Request.Method + " " + w.Request.Path + "\x00" + string(sent(w))
			if refused[key] > 0 {
				w.Holds(refused[key] < tolerated, "request", "a change, after it was refused",
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

// repeatedCreate judges whether the client creates twice.
func repeatedCreate() check {
	there := map[string]bool{}
	return check{
		ID:    "client.creates-once",
		Title: "What was created is not created again",
		Level: interop,
		Why:   "Where names are not unique there are two of it then; elsewhere it is a conflict.",
		Fix:   "Keep the id of the answer, and look for the resource when the answer was lost.",
		Watch: func(w *watched) {
			if w.Request.Method == http.MethodDelete && w.OK() {
				clear(there) // what was deleted may be created again; which one it was is not known here
			}
			_, value := created(w)
			if value == "" {
				return
			}
			key := w.Collection() + "\x00" + strings.ToLower(value)
			w.Holds(!there[key], "create", "no second create of what is there", "one")
			there[key] = there[key] || w.Status == http.StatusCreated
		},
	}
}

// versions remembers the tags that the server has given, by path.
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

// ifMatch judges whether the client protects what others have changed.
func ifMatch() check {
	seen := versions()
	return check{
		ID:           "client.if-match",
		Title:        "Changes of a resource whose version is known carry If-Match",
		Requirements: reqs("RFC7644-3.14-05"),
		Level:        may,
		Why:          "Without it the client overwrites what somebody else has changed since.",
		Fix:          "Send the last ETag in If-Match, and read again after 412.",
		Watch: func(w *watched) {
			if known := seen(w); changes(w) && len(known) > 0 && !unsupported(w, "etag") {
				w.Holds(w.Request.Header.Get("If-Match") != "", "If-Match of the request", "the last version", "nothing")
			}
		},
	}
}

// ifMatchKnown judges whether versions come from the server.
func ifMatchKnown() check {
	seen := versions()
	return check{
		ID:           "client.if-match-known",
		Title:        "If-Match names versions as the server has given them",
		Requirements: reqs("RFC7644-3.14-05"),
		Level:        interop,
		Why:          "A tag without its quotation marks or its W/ never matches.",
		Fix:          "Send the ETag back byte for byte.",
		Watch: func(w *watched) {
			known := seen(w)
			tag := w.Request.Header.Get("If-Match")
			if tag == "" || tag == "*" || len(known) == 0 {
				return
			}
			for one := range strings.SplitSeq(tag, ",") {
				w.Holds(slices.Contains(known, strings.TrimSpace(one)), "If-Match of the request", "a version that the server has given", tag)
			}
		},
	}
}
