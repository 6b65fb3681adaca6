package assignments

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// operation is an operation of JSON Patch (RFC 6902).
type operation struct {
	Op    string `json:"op" required:"true" enum:"add,remove,replace" doc:"Operation. The priority cannot be removed."`
	Path  string `json:"path" required:"true" doc:"/priority, /profile, or an attribute below /profile."`
	Value any    `json:"value" doc:"The new value."`
}

type patchGroupRequest struct {
	groupRequest
	Body []operation `body:"required"`
}

func (s *Slice) patchGroup(ctx context.Context, req *patchGroupRequest) (AppGroup, error) {
	var written docstore.Doc[model.AppGroup]
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		old, err := s.findGroup(ctx, tx, req.AppID, req.GroupID)
		if err != nil {
			return err
		}
		body := putGroupBody{Profile: maps.Clone(old.Value.Profile)}
		var causes rest.Causes
		for i, o := range req.Body {
			o.apply(&body, fmt.Sprintf("[%d]", i), &causes)
		}
		if err := causes.Err(); err != nil {
			return err
		}
		written, err = s.writeGroup(ctx, tx, &putGroupRequest{AppID: req.AppID, GroupID: req.GroupID, Body: body})
		return err
	})
	if err != nil {
		return AppGroup{}, err
	}
	return renderGroup(ctx, written), nil
}

// apply applies the operation to the members of an assignment. If the operation is invalid, apply adds the error to causes.
func (o operation) apply(to *putGroupBody, at string, causes *rest.Causes) {
	attribute, below := strings.CutPrefix(o.Path, "/profile/")
	switch {
	case o.Path == "/priority" && o.Op != "remove":
		number, _ := o.Value.(json.Number)
		n, err := number.Int64()
		if err != nil || n < 0 || n > maxPriority {
			causes.Add(at+".value", "The value must be between 0 and %d", maxPriority)
		}
		to.Priority = int(n)
	case o.Path == "/profile" && o.Op == "remove":
		to.Profile = nil
	case o.Path == "/profile":
		profile, ok := o.Value.(map[string]any)
		if !ok && o.Value != nil {
			causes.Add(at+".value", "The value must be an object")
		}
		to.Profile = maps.Clone(profile)
	case below:
		o.applyBelow(to, strings.NewReplacer("~1", "/", "~0", "~").Replace(attribute), at, causes)
	default:
		causes.Add(at+".path", "The path %q does not support the operation %s", o.Path, o.Op)
	}
}

// applyBelow changes one attribute of the profile. Only "add" can create an attribute.
func (o operation) applyBelow(to *putGroupBody, attribute, at string, causes *rest.Causes) {
	if _, there := to.Profile[attribute]; !there && o.Op != "add" {
		causes.Add(at+".path", "The profile has no attribute %q", attribute)
		return
	}
	if o.Op == "remove" {
		delete(to.Profile, attribute)
		return
	}
	if to.Profile == nil {
		to.Profile = map[string]any{}
	}
	to.Profile[attribute] = o.Value
}
