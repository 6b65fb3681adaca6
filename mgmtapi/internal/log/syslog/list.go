package syslog

import (
	"context"
	"encoding/base64"
	"regexp"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Bounds of a list.
const (
	defaultPeriod = 7 * 24 * time.Hour // length of the period if since is absent
	maxTerms      = 10
	maxTerm       = 40 // characters
	// For callers that may see only some events, chunk is the number of events per query, and maxScan the maximum number of events read for
	// one page. A page can then have fewer events than its limit, or none.
	chunk   = 500
	maxScan = 10 * chunk
)

const (
	ascending  = "ASCENDING"
	descending = "DESCENDING"
)

type listRequest struct {
	Since     string `query:"since" doc:"Start of the period, RFC 3339. Default: seven days before its end."`
	Until     string `query:"until" doc:"End of the period, RFC 3339. Default: now in descending order, no end in ascending order."`
	Filter    string `query:"filter" doc:"Filter expression over the members of events. A member of an array matches if any element matches."`
	Q         string `query:"q" doc:"Up to ten words of at most 40 characters. Each must occur in a string of the event. Case-insensitive."`
	Limit     int    `query:"limit" default:"100" min:"1" max:"1000" doc:"Size of the page, at most 1000."`
	After     string `query:"after" doc:"Cursor from the link to the next page."`
	SortOrder string `query:"sortOrder" default:"ASCENDING" enum:"ASCENDING,DESCENDING" doc:"Order by time."`

	since, until time.Time // zero until means that the period has no end
	words        []string
}

// checkList parses the period and the words.
func checkList(_ context.Context, r *listRequest, causes *rest.Causes) error {
	for _, at := range []struct {
		name, text string
		to         *time.Time
	}{{"since", r.Since, &r.since}, {"until", r.Until, &r.until}} {
		if at.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, at.text)
		if err != nil || t.Year() < 1970 || t.Year() > 9999 {
			causes.Add(at.name, "The value must be a timestamp as in RFC 3339")
			continue
		}
		*at.to = t
	}
	r.words = strings.Fields(r.Q)
	if len(r.words) > maxTerms {
		causes.Add("q", "There can be at most %d words", maxTerms)
	}
	for i, word := range r.words {
		if len([]rune(word)) > maxTerm {
			causes.Add("q", "A word can have at most %d characters", maxTerm)
		}
		r.words[i] = strings.ToLower(word)
	}
	return nil
}

// period sets the defaults of since and until, and rejects a period that starts before the oldest retained event.
func (r *listRequest) period(now time.Time) error {
	oldest, end := now.Add(-Retention), r.until
	if end.IsZero() {
		end = now
	}
	if r.since.IsZero() {
		r.since = end.Add(-defaultPeriod)
		if r.since.Before(oldest) && !end.Before(oldest) {
			r.since = oldest
		}
	}
	if r.since.Before(oldest) {
		return rest.Failf(rest.CodeLogFilter, "The period starts too early: the log is retained for %d days.", int(Retention/(24*time.Hour)))
	}
	if !r.until.IsZero() && r.until.Before(r.since) {
		return rest.Invalid("since", "The period must not start after its end")
	}
	return nil
}

// polls reports whether the list also includes events that are written later. Every page then has a link to a next page.
func (r *listRequest) polls() bool { return r.SortOrder == ascending && r.until.IsZero() }

func (s *Slice) list(ctx context.Context, r *listRequest) (rest.Page[LogEvent], error) {
	match, err := matcher(r)
	if err != nil {
		return rest.Page[LogEvent]{}, err
	}
	if err := r.period(s.Now()); err != nil {
		return rest.Page[LogEvent]{}, err
	}
	begin := model.LogTime(r.since)
	where := []docstore.Cond{docstore.Ge(docstore.ID, begin)}
	if !r.until.IsZero() {
		where = append(where, docstore.Lt(docstore.ID, model.LogTime(r.until.Add(time.Millisecond))))
	}
	at := begin
	if r.After != "" {
		if at, err = parseCursor(r.After); err != nil {
			return rest.Page[LogEvent]{}, err
		}
		where = append(where, r.behind(at))
	}
	before := len(where)
	view, size := authz.Log(ctx), r.Limit
	if view != nil {
		size = chunk
	}
	q := s.Store.Reader()
	var page rest.Page[LogEvent]
	more, full := true, false
	for scanned := 0; more && !full && len(page.Items) < r.Limit && scanned < maxScan; scanned += size {
		found, err := s.LogEvents.Query(ctx, q, docstore.Query[model.LogEvent]{
			Where: docstore.All(where...), OrderBy: docstore.ID, Desc: r.SortOrder == descending, Limit: size, Match: match,
			MaxBytes: rest.PageBytes,
		})
		if err != nil {
			return rest.Page[LogEvent]{}, err
		}
		sees := func(*model.LogEvent) bool { return true }
		if view != nil {
			if sees, err = view.Among(ctx, q, s.Deps, found.Docs); err != nil {
				return rest.Page[LogEvent]{}, err
			}
		}
		if err := rest.Hold(ctx, found.Bytes); err != nil {
			return rest.Page[LogEvent]{}, err
		}
		more = found.Next != ""
		full = more && len(found.Docs) < size
		for i, doc := range found.Docs {
			at = doc.ID
			if sees(&doc.Value) {
				page.Items = append(page.Items, render(doc))
			}
			if len(page.Items) == r.Limit {
				more = more || i < len(found.Docs)-1
				break
			}
		}
		where = append(where[:before], r.behind(at))
	}
	if more || r.polls() {
		page.Next = cursor(at)
	}
	return page, nil
}

// behind returns the condition for events after a position in the order of the list.
func (r *listRequest) behind(at string) docstore.Cond {
	if r.SortOrder == descending {
		return docstore.Lt(docstore.ID, at)
	}
	return docstore.Gt(docstore.ID, at)
}

// matcher returns the condition of the filter and the words, nil if the request has neither.
func matcher(r *listRequest) (func(*docstore.Doc[model.LogEvent]) bool, error) {
	var holds predicate
	if r.Filter != "" {
		var err error
		if holds, err = compile(r.Filter); err != nil {
			return nil, err
		}
	}
	if holds == nil && len(r.words) == 0 {
		return nil, nil
	}
	return func(doc *docstore.Doc[model.LogEvent]) bool {
		event := members(render(*doc))
		return (holds == nil || holds(event)) && hasAll(event, r.words)
	}, nil
}

// hasAll reports whether each word occurs in a string of the event, ignoring case. The words are in lower case.
func hasAll(event any, words []string) bool {
	for _, word := range words {
		if !has(event, word) {
			return false
		}
	}
	return true
}

func has(value any, word string) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), word)
	case []any:
		for _, element := range v {
			if has(element, word) {
				return true
			}
		}
	case map[string]any:
		for _, member := range v {
			if has(member, word) {
				return true
			}
		}
	}
	return false
}

// cursor encodes a position in the log, an event id or a model.LogTime, so that callers treat it as opaque.
func cursor(place string) string { return base64.RawURLEncoding.EncodeToString([]byte(place)) }

var place = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?$`)

func parseCursor(text string) (string, error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || !place.Match(data) {
		return "", rest.Fail(rest.CodeCursor)
	}
	return string(data), nil
}
