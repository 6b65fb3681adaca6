package plan

import (
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// passwordDue says whether the account is not known to have the password that it should have.
func (u *user) passwordDue() bool {
	return u.in.SyncPassword && u.in.Password != "" && u.in.PasswordVersion != "" && u.out.PasswordVersion != u.in.PasswordVersion
}

func (u *user) newPassword() assignment {
	return assignment{[]string{passwordPath}, u.in.Password}
}

// setPassword ends the sequence of an account that is up to date otherwise. It comes last, so that a password that the target's rules
// refuse keeps nothing else from it, and so that no PUT takes it away again.
func (u *user) setPassword() Step {
	if !u.passwordDue() {
		return u.end(engine.Done, "")
	}
	return u.write(&change{
		what: "set the password", op: engine.OpUpdate, set: []assignment{u.newPassword()}, ways: u.ways(u.in.Style),
		style: u.in.Style, again: u.setPassword,
		then: func(Response, *scim.Resource) Step {
			u.out.PasswordVersion = u.in.PasswordVersion
			return u.end(engine.Done, "")
		},
	})
}
