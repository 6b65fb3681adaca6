package conformance

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// membersCheck is the check that reports a target whose groups are returned without members. All other checks that read members are then
// blocked.
const membersCheck = "groups.create"

// withoutMembers is the reason why a check that reads members is blocked.
const withoutMembers = blockedPrefix + "GET /Groups/{id} returned 200 without the members that accepted requests have set"

// memberSurvey is what the run knows about members of groups in responses.
type memberSurvey struct {
	done bool
	// without is the response to a GET of a group whose members were set. It is nil if a response contained members, or if no group could be
	// created or updated with members.
	without *Response
}

// surveyMembers reports whether the target returns groups without their members, and returns the response that shows it. It creates a group
// with a member on the first call. If a GET of the group contains no members, surveyMembers sets them by PATCH, then by PUT.
func (s *session) surveyMembers(ctx context.Context) (without *Response, ok bool) {
	if !s.members.done && !s.opts.ReadOnly && s.rights.denied == "" && s.created.broken == nil && s.caps.Users && s.caps.Groups {
		s.members.done = true
		checking := s.wire.checking
		s.wire.checking = ""
		s.scratch(ctx, "members", func(t *T, _ string, _ Doc) { s.members.without = readWithoutMembers(ctx, t) })
		s.wire.checking = checking
	}
	return s.members.without, s.members.without != nil
}

// readWithoutMembers returns the last response to a GET of a group whose members were set, nil if a response contains members or if the
// target rejects the requests.
func readWithoutMembers(ctx context.Context, t *T) *Response {
	user := t.CreateUser(ctx, "member", nil)
	members := []Doc{{"value": user.ID}}
	body := t.Group("members", Doc{"members": members})
	created := t.Post(ctx, "/Groups", body)
	set := created.OK()
	group := t.createdBy("/Groups", created)
	if group == nil {
		group = t.CreateGroup(ctx, "empty", nil)
		body = t.Group("empty", Doc{"members": members})
	}
	var without *Response
	for _, update := range []func() *Response{
		nil,
		func() *Response {
			return t.Patch(ctx, group.Path(), Doc{"op": "add", "path": "members", "value": members})
		},
		func() *Response { return t.Put(ctx, group.Path(), body) },
	} {
		if update != nil {
			set = update().OK()
		}
		if !set {
			continue
		}
		plain := t.Read(ctx, group.Path())
		for _, res := range []*Response{plain, t.Get(ctx, group.Path(), "attributes", "displayName,members")} {
			if len(res.Object().Array("members")) > 0 {
				return nil
			}
		}
		without = plain
	}
	return without
}

// A groupTraffic is what the requests of a check have shown about members of groups.
type groupTraffic struct {
	read  bool // a GET has returned a group
	shown bool // a response contained members of a group
}

// observe records a response.
func (g *groupTraffic) observe(req Request, res *Response) {
	if first(req.Path) != "Groups" || !res.OK() {
		return
	}
	g.read = g.read || req.Method == http.MethodGet
	for _, o := range append(res.Resources(), res.Object()) {
		g.shown = g.shown || len(o.Array("members")) > 0
	}
}

// setsMembers reports whether one of the requests of the check sets members of a group.
func (t *T) setsMembers() bool {
	return slices.ContainsFunc(slices.Concat(t.fixtureSent, t.sent), func(req Request) bool {
		if name := first(req.Path); name != "Groups" && "/"+name != bulkPath {
			return false
		}
		body, isText := req.Body.([]byte)
		if !isText {
			body, _ = json.Marshal(req.Body) // newRequest has encoded the body before
		}
		return memberValue.Match(body)
	})
}

var (
	// memberValue matches a body with members that are not an empty list.
	memberValue = regexp.MustCompile(`"members":\[[^\]]|"path":"[^"]*members`)
	// aboutMembers matches the subject of a finding about members of a group.
	aboutMembers = regexp.MustCompile(`(?i)\bmembers?\b`)
)

// readsMembers reports whether a finding is about members in the response to a request.
func (f Finding) readsMembers() bool {
	return aboutMembers.MatchString(f.What) && !strings.HasPrefix(f.What, "status") && f.Exchange != nil && f.Exchange.Status < 300 &&
		(strings.Contains(f.Exchange.URL, "/Groups") || strings.Contains(f.Exchange.URL, bulkPath))
}

// settleMembers blocks a check that reads members of groups, if the target returns groups without their members. Findings that are not
// about members remain. The check membersCheck gets the finding that the members are missing.
func (s *session) settleMembers(ctx context.Context, t *T) {
	accusing := t.ending() == accused && slices.ContainsFunc(t.findings, Finding.readsMembers)
	vacuous := t.groups.read && !t.groups.shown && (t.outcome == Pass || t.outcome == Skip && strings.HasPrefix(t.reason, blockedPrefix))
	if !accusing && !vacuous || !t.setsMembers() {
		return
	}
	res, without := s.surveyMembers(ctx)
	if !without {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(t.findings), Finding.readsMembers)
	if t.check.ID == membersCheck {
		members, _ := res.Object().Get("members")
		t.findings = append(rest, Finding{Outcome: t.check.Level.Violation(), Exchange: res.exchange, Got: show(members),
			What: "members in GET /Groups/{id} after the target accepted requests that set them", Want: "the members"})
		t.outcome = graver(Pass, t.check.Level.Violation())
		return
	}
	t.findings, t.outcome, t.reason = rest, Pass, ""
	for _, f := range rest {
		t.outcome = graver(t.outcome, f.Outcome)
	}
	if len(rest) > 0 {
		t.Note("%s", withoutMembers)
		return
	}
	t.outcome, t.reason, t.notApplicable = Skip, withoutMembers, false
	t.blockedBy = &Blocker{What: strings.TrimPrefix(withoutMembers, blockedPrefix), Exchange: res.exchange}
}
