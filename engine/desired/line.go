package desired

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim"
)

// operations are the values of the member op of a line, with the function that reads the change.
var operations = map[string]func(*line) Change{
	"putUser": func(l *line) Change { return l.user(engine.Want(l.text("want"))) },
	"deleteUser": func(l *line) Change {
		return User{ID: l.text("id"), Version: l.number("version"), Want: engine.Absent}
	},
	"presentUser": func(l *line) Change { return Present{Kind: engine.User, ID: l.text("id")} },
	"putGroup":    func(l *line) Change { return l.group(engine.Want(l.text("want"))) },
	"deleteGroup": func(l *line) Change {
		return Group{ID: l.text("id"), Version: l.number("version"), Want: engine.Absent, DeleteRemote: l.flag("deleteRemote")}
	},
	"presentGroup": func(l *line) Change { return Present{Kind: engine.Group, ID: l.text("id")} },
	"putMembers": func(l *line) Change {
		l.required("members")
		return Members{Group: l.text("id"), Version: l.number("version"), Users: l.texts("members")}
	},
	"changeMembers": func(l *line) Change {
		l.required("base")
		return MemberDelta{
			Group: l.text("id"), Base: l.number("base"), Version: l.number("version"), Add: l.texts("add"), Remove: l.texts("remove"),
		}
	},
}

// line is a decoded line of a batch. Unknown members are ignored.
type line struct {
	object *scim.Object
	err    *InputError // the first invalid member
}

// parseLine decodes a line. id is the id in the line, if it could be read. With an error, the change is an unreadable one or nil.
func parseLine(data []byte) (c Change, id string, err error) {
	o, err := scim.Decode(data)
	if err != nil {
		problem := err.Error()
		if syntax, ok := errors.AsType[*scim.SyntaxError](err); ok {
			problem = syntax.Error()
		}
		return nil, "", &InputError{"", "the line is not valid JSON: " + problem}
	}
	l := &line{object: o}
	id, _ = value[string](o, "id")
	read, ok := operations[l.text("op")]
	if l.err == nil && !ok {
		l.fail("op", "the value must be one of: putUser, deleteUser, presentUser, putGroup, deleteGroup, presentGroup, putMembers, changeMembers")
	}
	if l.err != nil {
		return nil, id, l.err
	}
	if c = read(l); l.err != nil {
		switch c.(type) {
		case User:
			return unreadable{key{engine.User, id}, l.err}, id, l.err
		case Group:
			return unreadable{key{engine.Group, id}, l.err}, id, l.err
		}
		return nil, id, l.err
	}
	return c, id, nil
}

func value[T any](o *scim.Object, name string) (v T, ok bool) {
	found, _ := o.Get(name)
	v, ok = found.(T)
	return v, ok
}

func (l *line) fail(member, format string, args ...any) {
	if l.err == nil {
		l.err = &InputError{member, fmt.Sprintf(format, args...)}
	}
}

// read returns a member with the type T, and the zero value for an absent member or null.
func read[T any](l *line, name, expected string) (v T) {
	found, ok := l.object.Get(name)
	if !ok || found == nil {
		return v
	}
	v, ok = found.(T)
	if !ok {
		l.fail(name, "the value must be %s", expected)
	}
	return v
}

func (l *line) required(name string) {
	if v, ok := l.object.Get(name); !ok || v == nil {
		l.fail(name, "the member is required")
	}
}

func (l *line) text(name string) string { return read[string](l, name, "a string") }
func (l *line) flag(name string) bool   { return read[bool](l, name, "true or false") }

func (l *line) number(name string) int64 {
	n := read[json.Number](l, name, "an integer")
	if n == "" {
		return 0
	}
	v, err := n.Int64()
	if err != nil {
		l.fail(name, "the value must be an integer without fraction and exponent, at most %d", MaxVersion)
	}
	return v
}

func (l *line) texts(name string) []string {
	list := read[[]any](l, name, "an array of strings")
	out := make([]string, 0, len(list))
	for i, v := range list {
		text, ok := v.(string)
		if !ok {
			l.fail(fmt.Sprintf("%s[%d]", name, i), "the value must be a string")
			return nil
		}
		out = append(out, text)
	}
	return out
}

func (l *line) resource(name string) *scim.Resource {
	if o := read[*scim.Object](l, name, "an object"); o != nil {
		return &scim.Resource{Object: *o}
	}
	return nil
}

func (l *line) user(want engine.Want) User {
	u := User{
		ID: l.text("id"), Version: l.number("version"), Want: want, Resource: l.resource("resource"), OnCreate: l.resource("onCreate"),
		Manager: l.text("manager"), RemoteID: l.text("remoteId"), Password: l.text("password"), PasswordVersion: l.text("passwordVersion"),
	}
	if profile := read[*scim.Object](l, "profile", "an object"); profile != nil {
		u.Profile, _ = plain(profile).(map[string]any)
	}
	return u
}

func (l *line) group(want engine.Want) Group {
	return Group{
		ID: l.text("id"), Version: l.number("version"), Want: want, DisplayName: l.text("displayName"),
		RemoteID: l.text("remoteId"), DeleteRemote: l.flag("deleteRemote"),
	}
}
