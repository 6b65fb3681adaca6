package sandboxapi

import (
	"context"
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
)

// Links say which account or group of a target belongs to which user or group.
type Links interface {
	// Links returns a page behind the one with that kind and id.
	Links(ctx context.Context, app, afterKind, after string, limit int) ([]Link, error)
	// TakeLinks takes links in, all or none.
	TakeLinks(ctx context.Context, app string, links []Link) error
}

// Link is one link.
type Link struct {
	Kind       string `json:"kind" required:"true" enum:"user,group"`
	ID         string `json:"id" required:"true" doc:"of the user or group"`
	RemoteID   string `json:"remoteId" required:"true"`
	RemoteName string `json:"remoteName,omitempty" doc:"userName or displayName at the target"`
	Origin     string `json:"origin,omitempty" enum:"created,linked,imported" doc:"imported when absent"`
}

func (s *Slice) linkRoutes() []rest.Route {
	return []rest.Route{
		row(s, "exportLinks", "GET /sandbox/v1/apps/{app}/links", "List which account or group belongs to whom, groups first", 0, func(ctx context.Context, r *linksRequest) ([]Link, error) {
			kind, id, err := splitAfter(r.After)
			if err != nil {
				return nil, err
			}
			return s.o.Engine.Links(ctx, r.App, kind, id, r.Limit)
		}),
		row(s, "importLinks", "POST /sandbox/v1/apps/{app}/links", "Say which account or group belongs to whom; all links or none", 0, func(ctx context.Context, r *linkRequest) (linked, error) {
			if err := s.o.Engine.TakeLinks(ctx, r.App, r.Body.Links); err != nil {
				return linked{}, err
			}
			return linked{Linked: len(r.Body.Links)}, nil
		}),
	}
}

type linked struct {
	Linked int `json:"linked" readOnly:"true"`
}

type linksRequest struct {
	appRequest
	After string `query:"after" doc:"kind and id, with a colon between them, of the last one of the page before"`
	Limit int    `query:"limit" default:"1000" min:"1" max:"10000" clamp:"true"`
}

type linkRequest struct {
	appRequest
	Body struct {
		Links []Link `json:"links" required:"true"`
	} `body:"required"`
}

// splitAfter reads where a page begins: kind:id, or empty for the first one.
func splitAfter(text string) (kind, id string, err error) {
	if text == "" {
		return "", "", nil
	}
	kind, id, ok := strings.Cut(text, ":")
	if !ok || kind != KindUser && kind != KindGroup {
		return "", "", rest.Invalid("after", "It is a kind (user or group) and an id with a colon between them")
	}
	return kind, id, nil
}
