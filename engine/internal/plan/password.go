package plan

import (
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// passwordDue reports whether the account is not known to have the desired password.
func (u *user) passwordDue() bool {
	return u.in.SyncPassword && u.in.Password != "" && u.in.PasswordVersion != "" && u.out.PasswordVersion != u.in.PasswordVersion
}

func (u *user) newPassword() assignment {
	return assignment{[]string{passwordPath}, u.in.Password}
}

// setPassword ends the sequence of an account that is otherwise up to date. The password is the last request: its rejection blocks no other
// change, and no later PUT removes the password.
func (u *user) setPassword() Step {
	if !u.passwordDue() {
		return u.end(engine.Done, "")
	}
	return u.write(&change{
		what: "set the password", op: engine.OpUpdate, set: []assignment{u.newPassword()}, forms: u.forms(u.in.Style),
		style: u.in.Style, again: u.setPassword,
		then: func(Response, *scim.Resource) Step {
			u.out.PasswordVersion = u.in.PasswordVersion
			return u.end(engine.Done, "")
		},
	})
}
