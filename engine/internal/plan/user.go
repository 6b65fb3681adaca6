package plan

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/scim"
)

// UserInput is the input of the sequence of a user.
type UserInput struct {
	Want     engine.Want
	UserName string         // compared in the lookup
	Resource *scim.Resource // the mapped attributes, without id, meta, active, groups and password
	// OnCreate has attributes that are only sent when the account is created, and never compared. A value in Resource, even null, overrides
	// them. May be nil.
	OnCreate *scim.Resource
	Password string // sent when the account is created
	// PasswordVersion identifies the Password. HasPassword is the version that the account with RemoteID is known to have; empty if unknown.
	// With SyncPassword a Password with another version is also set for an existing account.
	PasswordVersion, HasPassword string
	SyncPassword                 bool

	RemoteID   string // empty if unknown
	Origin     engine.Origin
	Activating bool // new assignment: the engine looks up the account by name, because RemoteID may belong to an earlier assignment
	MayExist   bool // an earlier sequence attempted Active: an account may exist although RemoteID is empty
	// EarlierName is another name under which an earlier sequence may have created the account, because the user was renamed after that create
	// was sent. Empty if there is none.
	EarlierName string

	Style                      engine.Style
	Fallback                   engine.Fallback
	Create, Update, Deactivate bool
	LookupAttribute            string // Default: userName
	OnMissing                  engine.Missing
	OnExisting                 engine.Existing
	Traits                     engine.Traits                      // known traits of the target
	IgnoredAttributes          map[string]engine.IgnoredAttribute // attributes that the target ignored in earlier sequences, by path
	// Rounds is the number of times that an ignored value is sent. Default: DefaultRounds.
	Rounds int

	// Pending is a change that the target has accepted and not yet carried out, nil if there is no such change. Until a read confirms the
	// change, no write is sent. Expired reports that its deadline has passed.
	Pending *engine.Pending
	Expired bool

	// HaltedLinks returns the reason why existing accounts must not be linked, empty if linking is allowed. It does not apply to accounts that
	// the engine created or that RemoteID names. Default: linking is allowed.
	HaltedLinks func() (why string, err error)

	// Former returns another known user that has or had the account, or whose id is the account's externalId; "" if no such user exists. The
	// userName may have been assigned to another user since: OnRecycled decides. Default: no user.
	Former     func(account *scim.Resource) (string, error)
	OnRecycled engine.Existing // LinkAuto links the account. The zero value means LinkAsk
	// HoldName reports whether a rename of an account to this name requires a decision. Default: never.
	HoldName func(userName string) bool

	// Owner returns the other user that owns the account with this id on the target and should keep it, else "". Default: no user.
	Owner func(id string) (string, error)
}

// User returns the sequence that brings a user to its desired state.
//
//	active, no id:    lookup; none: POST; one: link, then as below; several: held
//	active, again:    as without an id; the lookup finds the account of an earlier assignment, if it exists
//	active, id:       GET; PATCH active true if it is not (Catalog); overlay; PUT if anything differs; PATCH the password (Catalog);
//	                  a PUT always sets active to true
//	inactive, id:     PATCH active false (Catalog), or GET and PUT (Wizard)
//	inactive, no id:  lookup, then as above, if an account may exist; otherwise nothing
//	keep:             nothing
//
// If a lookup finds nothing although an account may exist, lookups by externalId and by the earlier name follow.
//
// An account that belongs to another user is neither deactivated nor linked. An account that belonged to another user, by its id or its
// externalId, is not deactivated, and only linked if OnRecycled allows it: the userName may have been assigned to another user.
//
// If the target rejects a form of a request, or the form has no effect, another one follows, and the detected trait is in Outcome.Learned.
// Exception: in the style Wizard, if an attribute of a PUT had no effect, no PATCH follows. With FallbackNone a rejection or conflict ends
// the sequence, and there is no lookup by externalId. An attribute that the target ignores is sent in at most UserInput.Rounds sequences;
// Outcome.IgnoredAttributes counts them. A deactivation without effect is a failure.
//
// A change with a 202 response ends the sequence as Accepted. With that change as Pending, the next sequence starts with a read of the
// account, or with a lookup after a create. That sequence ends as Accepted again while the account does not have the change. Once the
// account has the change, the sequence continues as above.
//
// Absent is the same as Inactive: a user is never deleted.
func User(in UserInput) *Sequence {
	if in.LookupAttribute == "" {
		in.LookupAttribute = "userName"
	}
	if in.Rounds <= 0 {
		in.Rounds = DefaultRounds
	}
	u := &user{
		in:     in,
		out:    Outcome{Operation: engine.OpNone, RemoteID: in.RemoteID, Origin: in.Origin, Name: in.UserName, PasswordVersion: in.HasPassword},
		traits: usedTraits(in.Fallback, in.Traits), ignored: ignoredLedger{map[string]engine.IgnoredAttribute{}, in.Rounds},
	}
	maps.Copy(u.ignored.paths, in.IgnoredAttributes)
	if u.in.Owner == nil {
		u.in.Owner = func(string) (string, error) { return "", nil }
	}
	if u.in.HaltedLinks == nil {
		u.in.HaltedLinks = linksAllowed
	}
	if u.in.Former == nil {
		u.in.Former = func(*scim.Resource) (string, error) { return "", nil }
	}
	if u.in.HoldName == nil {
		u.in.HoldName = func(string) bool { return false }
	}
	s := &Sequence{sofar: u.sofar, accept: u.accept}
	u.s = s
	s.step = u.begin()
	return s
}

type user struct {
	in      UserInput
	out     Outcome
	s       *Sequence
	rounds  int
	traits  engine.Traits // currently known
	ignored ignoredLedger

	inactive bool // the lookup found the account deactivated
	found    bool // a lookup found the account
	// linking reports that the account is linked only after its activation, which is a part of creating users.
	linking bool

	writing       *change  // change of the last request
	confirming    bool     // the sequence checks an accepted change
	withoutEffect []string // paths of the accepted change whose values the target has ignored
}

// learn records detected traits of the target.
func (u *user) learn(t engine.Traits) {
	if !u.strict() {
		u.out.learn(u.traits, t)
	}
}

// send returns a step with a request; then is called with the response.
func (u *user) send(req Request, then func(Response) Step) Step {
	u.s.next = then
	return Step{Request: &req}
}

func (u *user) end(class engine.Class, message string) Step {
	u.out.Class, u.out.Message = class, message
	u.out.Operation = combined(u.out.Confirmed, u.out.Operation)
	if u.confirming && class == engine.Held {
		u.out.Pending = nil // do not wait for the accepted change: the user needs a decision in any case
	}
	out := u.sofar()
	return Step{Outcome: &out}
}

func (u *user) sofar() Outcome {
	out := u.out
	out.IgnoredAttributes = u.ignored.paths
	if u.linking { // the next sequence looks up the account again, and may then activate it
		out.RemoteID, out.Origin = u.in.RemoteID, u.in.Origin
	}
	if out.RemoteID == "" {
		out.PasswordVersion = "" // a user without an account has no password version
	}
	return out
}

func (u *user) fail(f *failure) Step {
	if u.confirming && u.in.Expired && f.class == engine.Rejected {
		return u.outstanding()
	}
	u.out.Status, u.out.ScimType, u.out.RetryAfter = f.status, f.scimType, f.retryAfter
	return u.end(f.class, f.message)
}

func (u *user) begin() Step {
	if u.in.Pending != nil {
		return u.await()
	}
	return u.start()
}

func (u *user) start() Step {
	switch {
	case u.in.Want == engine.Keep:
		return u.end(engine.Skipped, "the desired state is to leave the account unchanged")
	case u.in.Want == engine.Active:
		return u.beginActive()
	case u.out.RemoteID == "" && !u.in.MayExist:
		return u.end(engine.Done, "") // the engine has never requested a create: the user has no account that the engine manages
	case !u.in.Deactivate:
		return u.end(engine.Skipped, "deactivating users is disabled for this target")
	case u.out.RemoteID == "":
		return u.lookup(u.deactivateFound)
	default:
		return u.deactivate()
	}
}

func (u *user) beginActive() Step {
	if u.out.RemoteID == "" || u.in.Activating {
		return u.lookup(u.adoptOrCreate)
	}
	return u.refresh()
}

// lookup searches for the account by name and passes the matches to then. An earlier sequence may have created an account whose id is
// unknown, or whose id the target currently does not return. lookup then also searches by the engine's own identifier (externalId), which
// no rename changes. If that finds nothing or is rejected, lookup searches by the earlier name.
//
// Invariant 5: If the response to a create may have been lost, the engine searches for the account by name, then by its own identifier
// (externalId).
func (u *user) lookup(then func(r Response, found []*scim.Resource) Step) Step {
	return u.lookupBy(u.in.LookupAttribute, u.in.UserName, func(r Response, found []*scim.Resource) Step {
		switch ours := u.externalID(); {
		case len(found) > 0 || !u.in.MayExist && u.in.RemoteID == "":
			return then(r, found)
		case ours == "" || u.strict():
			return u.lookupEarlier(r, then)
		default:
			return u.ask("externalId", ours, func(r Response, found []*scim.Resource, f *failure) Step {
				switch {
				case f != nil && f.class != engine.Rejected:
					return u.fail(f.in("lookup by externalId"))
				case f != nil || len(found) == 0:
					return u.lookupEarlier(r, then)
				}
				return u.single("externalId", ours, r, found, then)
			})
		}
	})
}

// lookupEarlier searches for an account that was created under an earlier name.
func (u *user) lookupEarlier(r Response, then func(r Response, found []*scim.Resource) Step) Step {
	if u.in.EarlierName == "" {
		return then(r, nil)
	}
	return u.lookupBy(u.in.LookupAttribute, u.in.EarlierName, func(r Response, found []*scim.Resource) Step {
		return then(r, slices.DeleteFunc(found, func(hit *scim.Resource) bool { return !u.ours(hit) }))
	})
}

// ours reports whether an account that was found by name was created by the engine, in an attempt whose response was lost: it has the
// engine's own identifier (externalId), or no identifier and the user has a create without a response. The check is necessary because the
// name may belong to another user now.
func (u *user) ours(hit *scim.Resource) bool {
	if p := u.in.Pending; p != nil && p.Operation == engine.OpCreate && p.RemoteID != "" {
		return hit.ID() == p.RemoteID // the target has returned the location of this account
	}
	if theirs := hit.ExternalID(); theirs != "" && u.externalID() != "" {
		return theirs == u.externalID()
	}
	return u.in.Origin == engine.Unconfirmed
}

// lookupBy searches for accounts with the value of the attribute and passes at most one to then.
func (u *user) lookupBy(attribute, value string, then func(Response, []*scim.Resource) Step) Step {
	return u.ask(attribute, value, func(r Response, found []*scim.Resource, f *failure) Step {
		if f != nil {
			return u.fail(f.in("lookup by " + attribute))
		}
		return u.single(attribute, value, r, found, then)
	})
}

// single puts the user on hold if several accounts were found: an operator must choose one.
func (u *user) single(attribute, value string, r Response, found []*scim.Resource, then func(Response, []*scim.Resource) Step) Step {
	if len(found) > 1 {
		u.out.Status = r.Status
		return u.end(engine.Held, fmt.Sprintf("%d accounts match %s %q: %s", len(found), attribute, value, ids(found)))
	}
	return then(r, found)
}

// ask sends a lookup and passes its matches, or its failure, to then.
func (u *user) ask(attribute, value string, then func(Response, []*scim.Resource, *failure) Step) Step {
	if value == "" {
		return u.fail(rejected(Response{}, "the user has no "+attribute+" for a lookup"))
	}
	if u.out.Operation == engine.OpNone {
		u.out.Operation = engine.OpLookup
	}
	if u.traits[engine.NoUserFilter] {
		return readList(u.send, listInstead(nil), users, attribute, value, then)
	}
	req := Request{Method: http.MethodGet, Path: LookupPath(users, attribute, value)}
	if attribute != u.in.LookupAttribute {
		reason := "no account found by " + u.in.LookupAttribute + ", although one may exist"
		req.Alternative = &Alternative{Form: "lookup by " + attribute, Reason: reason}
	}
	return u.send(req, func(r Response) Step {
		if unfiltered(r) && attribute == u.in.LookupAttribute && !u.strict() {
			return readList(u.send, listInstead(&r), users, attribute, value, func(r Response, found []*scim.Resource, f *failure) Step {
				if f == nil && ordinary(value) {
					u.learn(engine.Traits{engine.NoUserFilter: true})
				}
				return then(r, found, f)
			})
		}
		found, f := hits(r, attribute, value)
		return then(r, found, f)
	})
}

func (u *user) adoptOrCreate(_ Response, found []*scim.Resource) Step {
	if len(found) == 1 {
		return u.adopt(found[0])
	}
	if !u.in.Create {
		return u.end(engine.Skipped, "no account exists, and creating users is disabled for this target")
	}
	return u.create()
}

// adopt links a found account and updates it.
func (u *user) adopt(hit *scim.Resource) Step {
	switch owner, err := u.in.Owner(hit.ID()); {
	case err != nil:
		return u.ownerUnknown(err)
	case owner != "":
		return u.end(engine.Held, fmt.Sprintf("account %s already belongs to user %s", hit.ID(), owner))
	}
	switch former, err := u.recycled(hit); {
	case err != nil:
		return u.ownerUnknown(err)
	case former != "" && u.in.OnRecycled == engine.LinkNever:
		return u.end(engine.Rejected,
			fmt.Sprintf("account %s belongs or belonged to user %s: the options of this target exclude a link to such an account", hit.ID(), former))
	case former != "":
		return u.end(engine.Held,
			fmt.Sprintf("account %s belongs or belonged to user %s: confirm or reject the link to this user", hit.ID(), former))
	}
	ours := u.ours(hit)
	if !ours {
		if f := haltedLink(u.in.HaltedLinks, &u.out); f != nil {
			return u.fail(f)
		}
	}
	switch {
	case !ours && u.in.OnExisting == engine.LinkAsk:
		return u.end(engine.Held, fmt.Sprintf("account %s already exists: confirm that it belongs to the user", hit.ID()))
	case !ours && u.in.OnExisting == engine.LinkNever:
		return u.end(engine.Rejected,
			fmt.Sprintf("account %s already exists: existing accounts are not linked for this target", hit.ID()))
	}
	u.link(hit)
	u.out.Operation, u.found = engine.OpLink, true
	_, told := hit.Get("active")
	if !u.in.Update && (!u.mayActivate() || told && active(hit)) && !u.passwordDue() {
		return u.end(engine.Done, "")
	}
	return u.refresh()
}

// mayActivate reports whether an inactive account may be activated even if no other attribute changes. For an account that a lookup found,
// the permission to create users suffices, because the engine uses the account instead of creating one.
func (u *user) mayActivate() bool { return u.in.Deactivate || u.in.Create && u.found }

// recycled returns another user that has or had the found account, empty if there is none: the userName may have been assigned to another
// user. If OnRecycled is LinkAuto, or the account has the externalId of this user, the result is empty without a check.
func (u *user) recycled(hit *scim.Resource) (string, error) {
	if theirs := hit.ExternalID(); u.in.OnRecycled == engine.LinkAuto || theirs != "" && theirs == u.externalID() {
		return "", nil
	}
	return u.in.Former(hit)
}

// link records the id and the name of the account.
func (u *user) link(hit *scim.Resource) {
	if hit.ID() != u.in.RemoteID {
		u.out.PasswordVersion = ""
	}
	u.out.RemoteID = hit.ID()
	u.out.Origin = engine.Linked
	if u.ours(hit) {
		u.out.Origin = engine.Created
	}
}

func (u *user) externalID() string {
	if u.in.Resource == nil {
		return ""
	}
	return u.in.Resource.ExternalID()
}

// Invariant 3: Before the engine repeats a create, it queries the target. A 409 leads to a lookup or a failure, never to a second create.
func (u *user) create() Step {
	return u.send(Request{Method: http.MethodPost, Path: users, Body: u.createBody(), Op: engine.OpCreate}, func(r Response) Step {
		u.out.Operation, u.out.Origin = engine.OpCreate, engine.Unconfirmed
		switch {
		case u.strict() && (conflict(r) || r.Err == nil && r.Status == http.StatusBadRequest):
			u.out.Origin = ""
			return u.fail(fail(r).in("create"))
		case conflict(r):
			u.out.Origin = "" // a conflict means that the target created nothing
			return u.lookup(func(_ Response, found []*scim.Resource) Step { return u.afterConflict(r, found, true) })
		case r.Err == nil && r.Status == http.StatusBadRequest:
			// Some targets return this status for a name in use. Another client may have used the name since the lookup.
			u.out.Origin = ""
			return u.lookup(func(_ Response, found []*scim.Resource) Step {
				if len(found) == 1 {
					return u.adopt(found[0])
				}
				return u.fail(fail(r).in("create"))
			})
		case !ok(r):
			if r.Status >= 400 && r.Status < 500 {
				u.out.Origin = ""
			}
			return u.fail(fail(r).in("create"))
		case r.Body == nil:
			return u.fail(rejected(r, "create: the response has an empty body: the id of the account is unknown"))
		}
		created := &scim.Resource{Object: *r.Body}
		if created.ID() == "" {
			return u.fail(rejected(r, "create: the response has no id"))
		}
		u.out.RemoteID, u.out.Origin, u.out.Status = created.ID(), engine.Created, r.Status
		u.out.PasswordVersion = u.in.PasswordVersion
		if created.Text("userName") != "" { // the response contains the account
			lacking := missing(overlay(created, u.desired()), created)
			u.ignored.sent(lacking, lacking, false)
		}
		return u.end(engine.Done, "")
	})
}

// createBody returns the mapped resource with the attributes of a create: OnCreate, active, an empty list of groups and the password.
func (u *user) createBody() *scim.Object {
	body := u.desired()
	for name, v := range u.desired().All() { // omit an extension without values
		if extension, ok := v.(*scim.Object); ok && strings.Contains(name, ":") && isEmpty(extension) {
			body.Delete(name)
		}
	}
	if once := u.in.OnCreate; once != nil {
		for _, urn := range once.Schemas() {
			body.AddSchema(urn)
		}
		complete(&body.Object, &once.Object)
	}
	if u.in.Password != "" {
		body.Set("password", u.in.Password)
	}
	body.Set("groups", []any{})
	body.Set("active", true)
	return &body.Object
}

// desired returns the mapped resource with its schema.
func (u *user) desired() *scim.Resource {
	body := &scim.Resource{}
	if u.in.Resource != nil {
		body = u.in.Resource.Clone()
	}
	if len(body.Schemas()) == 0 {
		mapped := body
		body = &scim.Resource{}
		body.Set("schemas", []string{scim.UserSchema})
		for name, v := range mapped.All() {
			body.Set(name, v)
		}
	}
	return body
}

// afterConflict handles a create that was rejected because the account exists: it links the account found by name, else by externalId.
func (u *user) afterConflict(refused Response, found []*scim.Resource, byName bool) Step {
	switch ours := u.externalID(); {
	case len(found) == 1:
		return u.adopt(found[0])
	case byName && ours != "":
		return u.lookupBy("externalId", ours, func(_ Response, found []*scim.Resource) Step {
			return u.afterConflict(refused, found, false)
		})
	default:
		return u.fail(&failure{
			class: engine.Rejected, status: refused.Status, scimType: fail(refused).scimType,
			message: "create: the target reports that the account exists (" + fail(refused).message + "), but a lookup does not find it",
		})
	}
}

// refresh reads the account and writes the differences.
func (u *user) refresh() Step {
	if !u.in.Update && !u.mayActivate() && !u.passwordDue() {
		return u.end(engine.Skipped, "updating users is disabled for this target")
	}
	return u.get(func(r Response, have *scim.Resource) Step { return u.reconcile(have, r.ETag) })
}

// get reads the account. If the account is missing, OnMissing decides.
func (u *user) get(then func(Response, *scim.Resource) Step) Step {
	if u.rounds++; u.rounds > maxRounds {
		return u.fail(transient(Response{}, fmt.Sprintf("the account changed or was deleted %d times during the update", maxRounds)))
	}
	id := u.out.RemoteID
	return u.send(Request{Method: http.MethodGet, Path: resourcePath(users, id)}, func(r Response) Step {
		switch {
		case notFound(r):
			return u.gone(r)
		case !ok(r):
			return u.fail(fail(r).in("read"))
		case r.Body == nil:
			return u.fail(transient(r, "read: the response has no body"))
		}
		have := &scim.Resource{Object: *r.Body}
		if got := have.ID(); got != "" && got != id {
			return u.fail(rejected(r, fmt.Sprintf("read: requested %s, but the target returned %s", id, got)))
		}
		if r.ETag == "" {
			r.ETag = have.Meta().Version
		}
		return then(r, have)
	})
}

// gone handles a known account that no longer exists on the target.
//
// Invariant 12: If the target reports a known account or group as missing, the engine searches for it before it creates it again: for an
// account by the externalId that the engine assigned, for a group by its previous name.
func (u *user) gone(r Response) Step {
	if u.in.Want != engine.Active {
		return u.verifyMissing(r)
	}
	lost := u.out.RemoteID
	if u.in.OnMissing == engine.Fail {
		return u.fail(rejected(r, "the account "+lost+" no longer exists on the target"))
	}
	u.out.RemoteID, u.out.Origin = "", ""
	return u.lookup(func(r Response, found []*scim.Resource) Step {
		if len(found) == 1 && found[0].ID() == lost {
			u.out.RemoteID, u.out.Origin = lost, u.in.Origin
			return u.fail(transient(r, "the target lists the account "+lost+", but returns 404 for it"))
		}
		return u.adoptOrCreate(r, found)
	})
}

// verifyMissing ends the deactivation of a missing account. A 404 that is not a SCIM error may come from another server, so that the
// account may still be active. Such a 404 counts only if a lookup by name succeeds and does not return the account.
func (u *user) verifyMissing(r Response) Step {
	lost := u.out.RemoteID
	end := func() Step {
		u.out.Status, u.out.RemoteID, u.out.Origin = r.Status, "", "" // a later assignment starts with a lookup
		return u.end(engine.Done, "")
	}
	if none(r.Body) || u.in.UserName == "" {
		return end()
	}
	return u.ask(u.in.LookupAttribute, u.in.UserName, func(answer Response, found []*scim.Resource, f *failure) Step {
		switch {
		case f != nil:
			return u.fail(f.in("lookup by " + u.in.LookupAttribute))
		case slices.ContainsFunc(found, func(hit *scim.Resource) bool { return hit.ID() == lost }):
			return u.fail(transient(answer, "the target lists the account "+lost+", but returns 404 for it"))
		}
		return end()
	})
}

// reconcile compares the account with the desired state and writes the differences: a reactivation by PATCH first.
func (u *user) reconcile(have *scim.Resource, etag string) Step {
	is, wanted := have.Text("userName"), u.desired().Text("userName")
	if u.in.Update && is != "" && wanted != "" && !strings.EqualFold(is, wanted) && u.in.HoldName(wanted) {
		return u.end(engine.Held,
			fmt.Sprintf("account %s has the name %q and would be renamed to %q, which looks like the name of a removed user",
				u.out.RemoteID, is, wanted))
	}
	var set []assignment
	if u.in.Update {
		set = u.ignored.settle(overlay(have, u.desired()))
		set = slices.DeleteFunc(set, func(a assignment) bool { return slices.Contains(u.withoutEffect, a.path()) })
	}
	reactivate := !active(have) && (u.mayActivate() || len(set) > 0) // an update always sets active to true
	u.linking = reactivate && u.found && !u.in.Deactivate
	if reactivate && !puts(u.traits, u.in.Style) {
		return u.write(&change{
			what: "reactivate", op: engine.OpReactivate, set: []assignment{setActive(true)}, have: have, etag: etag,
			forms: u.forms(u.in.Style), style: u.in.Style, again: u.refresh,
			then: func(r Response, now *scim.Resource) Step {
				u.linking = false
				if now == nil { // the response lacks the account: send no entity tag, because the known one is that of the previous version
					return u.update(assigned(have, []assignment{setActive(true)}), "", set)
				}
				return u.update(now, version(r), set)
			},
		})
	}
	if reactivate {
		u.did(engine.OpReactivate)
		set = append(set, setActive(true))
	}
	return u.update(have, etag, set)
}

// update writes the differences, if any, and the password. A PUT contains both in one request.
func (u *user) update(have *scim.Resource, etag string, set []assignment) Step {
	along := u.passwordDue() && puts(u.traits, u.in.Style)
	if along {
		set = append(set, u.newPassword())
	}
	if len(set) == 0 {
		return u.setPassword()
	}
	return u.write(&change{
		what: "update", op: engine.OpUpdate, set: set, have: have, etag: etag, forms: u.forms(engine.Wizard), style: engine.Wizard,
		again: u.refresh,
		then: func(Response, *scim.Resource) Step {
			u.linking = false
			if along {
				u.out.PasswordVersion = u.in.PasswordVersion
			}
			return u.setPassword()
		},
	})
}

func (u *user) deactivateFound(r Response, found []*scim.Resource) Step {
	if len(found) == 0 {
		u.out.Status, u.out.Origin = r.Status, ""
		return u.end(engine.Done, "")
	}
	hit := found[0]
	asks := u.in.OnExisting == engine.LinkAsk || u.in.OnExisting == engine.LinkNever
	strange := hit.ExternalID() != "" && u.externalID() != "" && hit.ExternalID() != u.externalID()
	switch former, err := u.recycled(hit); {
	case err != nil:
		return u.ownerUnknown(err)
	case former != "", asks && strange:
		u.out.Status, u.out.Origin = r.Status, ""
		return u.end(engine.Done, "")
	case asks && !u.ours(hit):
		return u.end(engine.Held,
			fmt.Sprintf("account %s has the user's name: confirm that it belongs to the user, so that it is deactivated", hit.ID()))
	}
	u.link(hit)
	u.inactive = !active(hit)
	return u.deactivate()
}

func (u *user) ownerUnknown(err error) Step {
	return u.fail(transient(Response{}, "the owner of the account is unknown: "+errtext.Plain(err)))
}

// deactivate deactivates the account, unless the account now belongs to another user, e.g. one with the same userName.
func (u *user) deactivate() Step {
	switch owner, err := u.in.Owner(u.out.RemoteID); {
	case err != nil:
		return u.ownerUnknown(err)
	case owner != "":
		u.out.RemoteID, u.out.Origin = "", ""
		return u.end(engine.Done, "")
	case u.inactive:
		return u.end(engine.Done, "")
	}
	u.out.Operation = engine.OpDeactivate
	return u.deactivateBy(u.forms(u.in.Style))
}

func (u *user) deactivateBy(forms []form) Step {
	return u.write(&change{
		what: "deactivate", op: engine.OpDeactivate, set: []assignment{setActive(false)}, forms: forms, style: u.in.Style,
		again: func() Step { return u.deactivateBy([]form{byPut}) },
		then:  func(Response, *scim.Resource) Step { return u.end(engine.Done, "") },
	})
}

// did records the operation, unless a more significant operation was recorded before.
func (u *user) did(op engine.Operation) {
	// A repeated link to the account of an earlier assignment is less significant than any other operation.
	again := u.in.Activating && u.out.Operation == engine.OpLink && u.out.RemoteID == u.in.RemoteID
	if again || u.out.Operation == engine.OpNone || u.out.Operation == engine.OpLookup ||
		u.out.Operation == engine.OpUpdate && op == engine.OpReactivate {
		u.out.Operation = op
	}
}

// active parses the attribute leniently: some servers return "True", and an account without the attribute is active.
func active(r *scim.Resource) bool {
	v, _ := r.Get("active")
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return !strings.EqualFold(v, "false")
	}
	return true
}
