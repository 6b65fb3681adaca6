package plan

import (
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// DefaultRounds is the default number of times that a value is sent although the target ignores it.
const DefaultRounds = 3

// ignoredLedger has the ignored attributes of one account, by path.
type ignoredLedger struct {
	paths map[string]engine.IgnoredAttribute
	limit int // maximum number of times that a value is sent without effect
}

// addRound records that the value with the digest `sent` was sent once more without effect.
func (k ignoredLedger) addRound(path, sent string) {
	n := 1
	if before := k.paths[path]; before.Sent == sent {
		n += before.Rounds
	}
	k.paths[path] = engine.IgnoredAttribute{Sent: sent, Rounds: n, Ignored: n >= k.limit}
}

// settle updates the record after a read: lacking has the assignments whose values the account does not have. It returns the assignments to
// send, without the values that were sent the maximum number of times.
func (k ignoredLedger) settle(lacking []assignment) (send []assignment) {
	digests := map[string]string{}
	for _, a := range lacking {
		digests[a.path()] = a.digest()
	}
	for path, e := range k.paths {
		switch {
		case digests[path] != e.Sent:
			delete(k.paths, path)
		case e.Open:
			k.addRound(path, e.Sent)
		}
	}
	return k.withoutIgnored(lacking)
}

// withoutIgnored returns the assignments without those whose values were sent the maximum number of times.
func (k ignoredLedger) withoutIgnored(lacking []assignment) (send []assignment) {
	for _, a := range lacking {
		if !k.paths[a.path()].Ignored {
			send = append(send, a)
		}
	}
	return send
}

// hadNoEffect reports whether one of the values was sent without effect before.
func (k ignoredLedger) hadNoEffect(set []assignment) bool {
	return slices.ContainsFunc(set, func(a assignment) bool { return k.paths[a.path()].Rounds > 0 })
}

// sent records the sent values and which of them the target lacks afterwards. read reports that the account was read back. If read is
// false, the values that the target has according to its response are unconfirmed (Open) until the next read.
func (k ignoredLedger) sent(set, missing []assignment, read bool) {
	lacks := map[string]bool{}
	for _, a := range missing {
		lacks[a.path()] = true
	}
	for _, a := range set {
		path, sent := a.path(), a.digest()
		switch before := k.paths[path]; {
		// not recorded: a deactivation without effect is a failure, and a target never returns a password
		case path == activePath, path == passwordPath:
		case lacks[path]:
			k.addRound(path, sent)
		case read:
			delete(k.paths, path)
		case before.Sent == sent:
			before.Open = true
			k.paths[path] = before
		default:
			k.paths[path] = engine.IgnoredAttribute{Sent: sent, Open: true}
		}
	}
}

// missing returns the assignments whose values a returned resource lacks. A userName in another case, an omitted password and omitted
// schemas are not missing.
func missing(set []assignment, shown *scim.Resource) (out []assignment) {
	for _, a := range set {
		value := valueAt(&shown.Object, a.chain)
		switch path := a.path(); {
		case path == "schemas", path == passwordPath:
		case path == activePath:
			if active(shown) != (a.value == true) {
				out = append(out, a)
			}
		case a.clears():
			if !unassigned(value) {
				out = append(out, a)
			}
		case scim.EqualName(path, "userName"):
			got, _ := value.(string)
			if sent, _ := a.value.(string); !strings.EqualFold(got, sent) {
				out = append(out, a)
			}
		case !containsAll(value, a.value):
			out = append(out, a)
		}
	}
	return out
}

func valueAt(o *scim.Object, chain []string) any {
	for _, name := range chain[:len(chain)-1] {
		o = o.Complex(name)
	}
	v, _ := o.Get(chain[len(chain)-1])
	return v
}
