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

// UserInput is what is known about a user when its sequence begins.
type UserInput struct {
	Want     engine.Want
	UserName string         // compared in the lookup
	Resource *scim.Resource // the mapped attributes, without id, meta, active, groups and password
	// OnCreate has attributes that are only sent when the account is created. Nobody compares them later. What Resource says, be it
	// null, counts more. May be nil.
	OnCreate *scim.Resource
	Password string // sent when the account is created
	// PasswordVersion names the Password, and HasPassword is the version that the account with RemoteID is known to have; empty for none.
	// With SyncPassword a Password of another version is also set at an account that exists.
	PasswordVersion, HasPassword string
	SyncPassword                 bool

	RemoteID   string // empty when not known
	Origin     engine.Origin
	Activating bool // the assignment is a new one: the account is looked up by name, although RemoteID may be that of an earlier one
	MayExist   bool // an earlier sequence wanted it Active, so an account may exist although RemoteID is empty
	// EarlierName is the name under which an earlier sequence may have created the account, if it is another one: the user was
	// renamed before the answer was known.
	EarlierName string

	Style                      engine.Style
	Fallback                   engine.Fallback
	Create, Update, Deactivate bool
	LookupAttribute            string // Defaults to userName
	OnMissing                  engine.Missing
	OnExisting                 engine.Existing
	Traits                     engine.Traits                      // what is known about the target
	IgnoredAttributes          map[string]engine.IgnoredAttribute // what the target did not keep of earlier sequences, by path
	// how often a value is sent that the target does not keep. Defaults to DefaultRounds
	Rounds int

	// Pending is a change that the target has accepted and was not seen to have carried out, nil for none: nothing is sent before that is
	// seen. Expired says that its time is up.
	Pending *engine.Pending
	Expired bool

	// HaltedLinks says why no account that exists may be linked at the moment; empty when it may. Accounts that we created, and the one
	// that RemoteID names, are not meant. Defaults to nothing.
	HaltedLinks func() (why string, err error)

	// Former returns another user that is known here and has or had an account, or whose externalId it carries, "" for nobody: the userName
	// may be another person's by now, and OnRecycled says what is done then. Defaults to nobody.
	Former     func(account *scim.Resource) (string, error)
	OnRecycled engine.Existing // LinkAuto takes the account over. The zero value reads as LinkAsk
	// HoldName says whether an account must not be renamed to that. Defaults to none.
	HoldName func(userName string) bool

	// Owner returns another user that has the account with that id and is to keep it, "" when there is none. Defaults to nobody.
	Owner func(id string) (string, error)
}

// User returns the sequence that brings a user to its desired state.
//
//	active, no id:    lookup; none: POST; one: link, then as below; several: held
//	active, anew:     as without an id; the account of an earlier assignment is found again, if it is there
//	active, id:       GET; PATCH active true if it is not (Catalog); overlay; PUT if anything differs; PATCH the password (Catalog);
//	                  a PUT always says that the account is active
//	inactive, id:     PATCH active false (Catalog), or GET and PUT (Wizard)
//	inactive, no id:  lookup, then as above, provided that an account may exist; otherwise nothing
//	keep:             nothing
//
// A lookup that finds nothing although an account may exist goes on by externalId, and then by the earlier name.
//
// An account that belongs to another user by now is neither deactivated nor linked. One that another user had before, by its id or by
// its externalId, is neither deactivated nor, unless OnRecycled says so, linked: the userName may have been given to another person.
//
// A form of a request that the target refuses, or that has no effect, is followed by another one, and what that teaches is in
// Outcome.Learned; an attribute without effect never leads from PUT to PATCH in the style Wizard. With FallbackNone a refusal ends
// the sequence, a conflict too, and there is no lookup by externalId. An attribute that the target does not keep is sent in a few
// sequences and then left alone: Outcome.Unkept. A deactivation without effect is a failure.
//
// A change that is answered with 202 ends the sequence as Accepted. With that as Pending, the next one begins with a read of the account,
// or with a lookup after a create. It ends as Accepted again while the account does not show the change, and goes on once it does.
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
		traits: believed(in.Fallback, in.Traits), unkept: ledger{map[string]engine.IgnoredAttribute{}, in.Rounds},
	}
	maps.Copy(u.unkept.paths, in.IgnoredAttributes)
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
	in     UserInput
	out    Outcome
	s      *Sequence
	rounds int
	traits engine.Traits // as known by now
	unkept ledger

	inactive bool // the lookup found the account deactivated
	found    bool // a lookup found the account
	// linking says that the account is only the user's once it is activated: that is part of creating users.
	linking bool

	writing    *change  // of the request that was sent last
	confirming bool     // whether a change that was accepted is carried out is being read
	vain       []string // paths that were carried out without effect
}

// learn notes what was found out about the target.
func (u *user) learn(t engine.Traits) {
	if !u.strict() {
		u.out.learn(u.traits, t)
	}
}

// send yields a request; then is called with the answer.
func (u *user) send(req Request, then func(Response) Step) Step {
	u.s.next = then
	return Step{Request: &req}
}

func (u *user) end(class engine.Class, message string) Step {
	u.out.Class, u.out.Message = class, message
	u.out.Operation = combined(u.out.Confirmed, u.out.Operation)
	if u.confirming && class == engine.Held {
		u.out.Pending = nil // a decision is needed whatever becomes of it
	}
	out := u.sofar()
	return Step{Outcome: &out}
}

func (u *user) sofar() Outcome {
	out := u.out
	out.IgnoredAttributes = u.unkept.paths
	if u.linking { // the next sequence looks the account up again, and so may activate it
		out.RemoteID, out.Origin = u.in.RemoteID, u.in.Origin
	}
	if out.RemoteID == "" {
		out.PasswordVersion = "" // it was that of an account
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
		return u.end(engine.Skipped, "the account is to stay as it is")
	case u.in.Want == engine.Active:
		return u.beginActive()
	case u.out.RemoteID == "" && !u.in.MayExist:
		return u.end(engine.Done, "") // nobody ever asked for an account: whatever is there is not ours
	case !u.in.Deactivate:
		return u.end(engine.Skipped, "deactivating users is switched off for this target")
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

// lookup finds the account by name and hands the hits to then. When an earlier sequence may have created an account, whose id
// we never learned or the target does not know at the moment, it is also looked for by our own identifier, which no rename
// changes, and where the target cannot filter by that, by the name of that time.
//
// Invariant 5: Where the response to a create may be lost, the engine searches for the account by name, then by its own identifier.
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

// lookupEarlier finds an account that was created under an earlier name.
func (u *user) lookupEarlier(r Response, then func(r Response, found []*scim.Resource) Step) Step {
	if u.in.EarlierName == "" {
		return then(r, nil)
	}
	return u.lookupBy(u.in.LookupAttribute, u.in.EarlierName, func(r Response, found []*scim.Resource) Step {
		return then(r, slices.DeleteFunc(found, func(hit *scim.Resource) bool { return !u.ours(hit) }))
	})
}

// ours says whether an account that was found by name is the one we created, in an attempt whose answer was lost: it carries our
// own identifier, or none. A name may belong to somebody else by now.
func (u *user) ours(hit *scim.Resource) bool {
	if p := u.in.Pending; p != nil && p.Operation == engine.OpCreate && p.RemoteID != "" {
		return hit.ID() == p.RemoteID // the target has said where it is
	}
	if theirs := hit.ExternalID(); theirs != "" && u.externalID() != "" {
		return theirs == u.externalID()
	}
	return u.in.Origin == engine.Unconfirmed
}

// lookupBy asks for the accounts with that value and hands none or one to then.
func (u *user) lookupBy(attribute, value string, then func(Response, []*scim.Resource) Step) Step {
	return u.ask(attribute, value, func(r Response, found []*scim.Resource, f *failure) Step {
		if f != nil {
			return u.fail(f.in("lookup by " + attribute))
		}
		return u.single(attribute, value, r, found, then)
	})
}

// single holds the user when several accounts were found: which one is meant is for a person to say.
func (u *user) single(attribute, value string, r Response, found []*scim.Resource, then func(Response, []*scim.Resource) Step) Step {
	if len(found) > 1 {
		u.out.Status = r.Status
		return u.end(engine.Held, fmt.Sprintf("%d accounts match %s %q: %s", len(found), attribute, value, ids(found)))
	}
	return then(r, found)
}

// ask sends a lookup and hands its hits, or why there are none to be had, to then.
func (u *user) ask(attribute, value string, then func(Response, []*scim.Resource, *failure) Step) Step {
	if value == "" {
		return u.fail(rejected(Response{}, "the user has no "+attribute+" to look it up by"))
	}
	if u.out.Operation == engine.OpNone {
		u.out.Operation = engine.OpLookup
	}
	if u.traits[engine.NoUserFilter] {
		return readList(u.send, listInstead(nil), users, attribute, value, then)
	}
	req := Request{Method: http.MethodGet, Path: LookupPath(users, attribute, value)}
	if attribute != u.in.LookupAttribute {
		reason := "none was found by " + u.in.LookupAttribute + ", although there may be one"
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
		return u.end(engine.Skipped, "no account exists, and creating users is switched off for this target")
	}
	return u.create()
}

// adopt links a found account and brings it up to date.
func (u *user) adopt(hit *scim.Resource) Step {
	switch owner, err := u.in.Owner(hit.ID()); {
	case err != nil:
		return u.ownerUnknown(err)
	case owner != "":
		return u.end(engine.Held, fmt.Sprintf("the account %s belongs to the user %s already", hit.ID(), owner))
	}
	switch former, err := u.recycled(hit); {
	case err != nil:
		return u.ownerUnknown(err)
	case former != "" && u.in.OnRecycled == engine.LinkNever:
		return u.end(engine.Rejected,
			fmt.Sprintf("the account %s is or was that of the user %s, and such accounts are not linked for this target", hit.ID(), former))
	case former != "":
		return u.end(engine.Held,
			fmt.Sprintf("the account %s is or was that of the user %s; somebody has to say whether it is to be this user's", hit.ID(), former))
	}
	ours := u.ours(hit)
	if !ours {
		if f := haltedLink(u.in.HaltedLinks, &u.out); f != nil {
			return u.fail(f)
		}
	}
	switch {
	case !ours && u.in.OnExisting == engine.LinkAsk:
		return u.end(engine.Held, fmt.Sprintf("the account %s exists already; somebody has to say that it is the user's", hit.ID()))
	case !ours && u.in.OnExisting == engine.LinkNever:
		return u.end(engine.Rejected,
			fmt.Sprintf("the account %s exists already, and existing accounts are not linked for this target", hit.ID()))
	}
	u.link(hit)
	u.out.Operation, u.found = engine.OpLink, true
	_, told := hit.Get("active")
	if !u.in.Update && (!u.mayActivate() || told && active(hit)) && !u.passwordDue() {
		return u.end(engine.Done, "")
	}
	return u.refresh()
}

// mayActivate reports whether an inactive account is to be activated, even if nothing else of it changes. One that a lookup found takes
// the place of one that would be created.
func (u *user) mayActivate() bool { return u.in.Deactivate || u.in.Create && u.found }

// recycled returns another user that an account is or was that of, although it has this user's name now.
func (u *user) recycled(hit *scim.Resource) (string, error) {
	if theirs := hit.ExternalID(); u.in.OnRecycled == engine.LinkAuto || theirs != "" && theirs == u.externalID() {
		return "", nil
	}
	return u.in.Former(hit)
}

// link takes over the id.
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

// Invariant 3: Before a repeated create the engine queries the target. A 409 leads to a lookup, never to a second create.
func (u *user) create() Step {
	return u.send(Request{Method: http.MethodPost, Path: users, Body: u.createBody(), Op: engine.OpCreate}, func(r Response) Step {
		u.out.Operation, u.out.Origin = engine.OpCreate, engine.Unconfirmed
		switch {
		case u.strict() && (conflict(r) || r.Err == nil && r.Status == http.StatusBadRequest):
			u.out.Origin = ""
			return u.fail(fail(r).in("create"))
		case conflict(r):
			u.out.Origin = "" // the target says it did not create anything
			return u.lookup(func(_ Response, found []*scim.Resource) Step { return u.afterConflict(r, found, true) })
		case r.Err == nil && r.Status == http.StatusBadRequest:
			// Some targets say so to a name that is taken, and another app may have taken it since the lookup.
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
			return u.fail(rejected(r, "create: the answer has an empty body, so the id of the account is not known"))
		}
		created := &scim.Resource{Object: *r.Body}
		if created.ID() == "" {
			return u.fail(rejected(r, "create: the answer has no id"))
		}
		u.out.RemoteID, u.out.Origin, u.out.Status = created.ID(), engine.Created, r.Status
		u.out.PasswordVersion = u.in.PasswordVersion
		if created.Text("userName") != "" { // otherwise it does not show the account
			lacking := missing(overlay(created, u.desired()), created)
			u.unkept.sent(lacking, lacking, false)
		}
		return u.end(engine.Done, "")
	})
}

// createBody is the mapped resource with what only counts now, active, an empty list of groups and the password.
func (u *user) createBody() *scim.Object {
	body := u.desired()
	for name, v := range u.desired().All() { // an extension that is only there to be cleared
		if extension, ok := v.(*scim.Object); ok && strings.Contains(name, ":") && void(extension) {
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

// desired is the mapped resource with its schema.
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

// afterConflict handles «exists already»: link by name, then by our own identifier.
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
			message: "create: the target says that the account exists (" + fail(refused).message + "), but a lookup does not find it",
		})
	}
}

// refresh reads the account and writes what differs.
func (u *user) refresh() Step {
	if !u.in.Update && !u.mayActivate() && !u.passwordDue() {
		return u.end(engine.Skipped, "updating users is switched off for this target")
	}
	return u.get(func(r Response, have *scim.Resource) Step { return u.reconcile(have, r.ETag) })
}

// get reads the account. One that is gone is handled by the policy.
func (u *user) get(then func(Response, *scim.Resource) Step) Step {
	if u.rounds++; u.rounds > maxRounds {
		return u.fail(transient(Response{}, fmt.Sprintf("the account changed or vanished %d times while it was being updated", maxRounds)))
	}
	id := u.out.RemoteID
	return u.send(Request{Method: http.MethodGet, Path: resourcePath(users, id)}, func(r Response) Step {
		switch {
		case missed(r):
			return u.gone(r)
		case !ok(r):
			return u.fail(fail(r).in("read"))
		case r.Body == nil:
			return u.fail(transient(r, "read: the answer has no body"))
		}
		have := &scim.Resource{Object: *r.Body}
		if got := have.ID(); got != "" && got != id {
			return u.fail(rejected(r, fmt.Sprintf("read: asked for %s, the target answered with %s", id, got)))
		}
		if r.ETag == "" {
			r.ETag = have.Meta().Version
		}
		return then(r, have)
	})
}

// gone handles a known account that the target does not have any more.
//
// Invariant 12: Before a known account that is reported missing is created again, the engine searches by its own identifier, and for a
// group by its previous name.
func (u *user) gone(r Response) Step {
	if u.in.Want != engine.Active {
		return u.leftBehind(r)
	}
	lost := u.out.RemoteID
	if u.in.OnMissing == engine.Fail {
		return u.fail(rejected(r, "the account "+lost+" is gone at the target"))
	}
	u.out.RemoteID, u.out.Origin = "", ""
	return u.lookup(func(r Response, found []*scim.Resource) Step {
		if len(found) == 1 && found[0].ID() == lost {
			u.out.RemoteID, u.out.Origin = lost, u.in.Origin
			return u.fail(transient(r, "the target lists the account "+lost+", but answers 404 for it"))
		}
		return u.adoptOrCreate(r, found)
	})
}

// leftBehind ends the deactivation of an account that is gone. A 404 that is not a SCIM error may come from something else than the target,
// which would leave the account active: the lookup has to answer, and not to list the account.
func (u *user) leftBehind(r Response) Step {
	lost := u.out.RemoteID
	end := func() Step {
		u.out.Status, u.out.RemoteID, u.out.Origin = r.Status, "", "" // an assignment later on starts with a lookup
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
			return u.fail(transient(answer, "the target lists the account "+lost+", but answers 404 for it"))
		}
		return end()
	})
}

// reconcile compares what the target has with what it should have, and writes what differs: a reactivation by PATCH first.
func (u *user) reconcile(have *scim.Resource, etag string) Step {
	is, wanted := have.Text("userName"), u.desired().Text("userName")
	if u.in.Update && is != "" && wanted != "" && !strings.EqualFold(is, wanted) && u.in.HoldName(wanted) {
		return u.end(engine.Held,
			fmt.Sprintf("the account %s is called %q and would be renamed to %q, which looks like the name of somebody who was removed",
				u.out.RemoteID, is, wanted))
	}
	var set []assignment
	if u.in.Update {
		set = u.unkept.settle(overlay(have, u.desired()))
		set = slices.DeleteFunc(set, func(a assignment) bool { return slices.Contains(u.vain, a.path()) })
	}
	reactivate := !active(have) && (u.mayActivate() || len(set) > 0) // what is written says that the account is active
	u.linking = reactivate && u.found && !u.in.Deactivate
	if reactivate && !puts(u.traits, u.in.Style) {
		return u.write(&change{
			what: "reactivate", op: engine.OpReactivate, set: []assignment{setActive(true)}, have: have, etag: etag,
			ways: u.ways(u.in.Style), style: u.in.Style, again: u.refresh,
			then: func(r Response, now *scim.Resource) Step {
				u.linking = false
				if now == nil { // the entity tag that we have is of the version before
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

// update writes what differs, if anything does, and the password. Where changes are put, the password goes with them.
func (u *user) update(have *scim.Resource, etag string, set []assignment) Step {
	along := u.passwordDue() && puts(u.traits, u.in.Style)
	if along {
		set = append(set, u.newPassword())
	}
	if len(set) == 0 {
		return u.setPassword()
	}
	return u.write(&change{
		what: "update", op: engine.OpUpdate, set: set, have: have, etag: etag, ways: u.ways(engine.Wizard), style: engine.Wizard,
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
			fmt.Sprintf("the account %s has the user's name; somebody has to say that it is the user's, so that it is deactivated", hit.ID()))
	}
	u.link(hit)
	u.inactive = !active(hit)
	return u.deactivate()
}

func (u *user) ownerUnknown(err error) Step {
	return u.fail(transient(Response{}, "whose account it is cannot be told: "+errtext.Plain(err)))
}

// deactivate leaves an account alone that another user has taken over, e.g. one who was given the same userName.
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
	return u.deactivateBy(u.ways(u.in.Style))
}

func (u *user) deactivateBy(ways []way) Step {
	return u.write(&change{
		what: "deactivate", op: engine.OpDeactivate, set: []assignment{setActive(false)}, ways: ways, style: u.in.Style,
		again: func() Step { return u.deactivateBy([]way{byPut}) },
		then:  func(Response, *scim.Resource) Step { return u.end(engine.Done, "") },
	})
}

// did notes what was done, unless something weightier was done before.
func (u *user) did(op engine.Operation) {
	// That the account of an earlier assignment is found again is the least of what is done about it.
	again := u.in.Activating && u.out.Operation == engine.OpLink && u.out.RemoteID == u.in.RemoteID
	if again || u.out.Operation == engine.OpNone || u.out.Operation == engine.OpLookup ||
		u.out.Operation == engine.OpUpdate && op == engine.OpReactivate {
		u.out.Operation = op
	}
}

// active reads the attribute leniently: some servers send "True", and one that does not tell is active.
func active(r *scim.Resource) bool {
	v, _ := r.Get("active")
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return !strings.EqualFold(v, "false")
	default:
		return true
	}
}
