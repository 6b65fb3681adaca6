package desiredapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/internal/rest"
)

// HeaderVersion is the header of a response 409 that contains the stored version.
const HeaderVersion = "X-Svc-Version"

// rejected converts an error of the store to an error response. kind and id are those of the object in a not-found error.
func rejected(err error, app, kind, id string) error {
	if err == nil {
		return nil
	}
	if stale, ok := errors.AsType[*desired.StaleError](err); ok {
		return conflict(err, stale.Current, fmt.Sprintf("The version is older than the stored version %d.", stale.Current))
	}
	if content, ok := errors.AsType[*desired.ContentError](err); ok {
		return conflict(err, content.Version,
			fmt.Sprintf("Version %d is stored with other content. Use a higher version.", content.Version))
	}
	if gap, ok := errors.AsType[*desired.GapError](err); ok {
		return conflict(err, gap.Current, fmt.Sprintf(
			"The change is based on version %d, but version %d is stored. Write the missing changes, or all members.", gap.Base, gap.Current))
	}
	if input, ok := errors.AsType[*desired.InputError](err); ok {
		return rest.Invalid(input.Member, "%s", input.Problem)
	}
	switch {
	case errors.Is(err, engine.ErrUnknownApp):
		return rest.NotFound("App", app)
	case errors.Is(err, engine.ErrNotFound):
		return rest.NotFound(kind, id)
	case errors.Is(err, engine.ErrStale), errors.Is(err, desired.ErrSnapshot), errors.Is(err, desired.ErrPulled),
		errors.Is(err, desired.ErrPullEnd):
		return &rest.Error{Code: rest.CodeMoved, Summary: errtext.Plain(err), Err: err}
	case errors.Is(err, desired.ErrSecrets):
		return rest.Failf(rest.CodeForbidden, "Credentials and passwords require the permission secrets.")
	case errors.Is(err, desired.ErrNoSeal):
		return &rest.Error{Code: rest.CodeUnsupported, Summary: "This server stores no secrets, because it has no key.", Err: err}
	}
	return err
}

func conflict(err error, current int64, summary string) error {
	return &rest.Error{
		Code: rest.CodeMoved, Summary: summary, Err: err, Header: http.Header{HeaderVersion: {strconv.FormatInt(current, 10)}},
	}
}
