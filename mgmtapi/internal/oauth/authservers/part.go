package authservers

import (
	"context"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// spot is the position of a part in the document of a server. Parts are policies, rules, scopes and claims.
type spot[T any] struct {
	list *[]T
	i    int
	// parties returns the log targets of events about the part.
	parties func(*T) []model.LogParty
}

func (p spot[T]) part() *T { return &(*p.list)[p.i] }

// partTarget is the part in a path.
type partTarget[T any] interface {
	base() *target
	at(server *model.AuthServer) (spot[T], error)
}

// locate returns the position of the first part for which match returns true. If no part matches, it returns a not-found error with kind
// and id.
func locate[T any](list *[]T, kind, id string, match func(*T) bool, parties func(*T) []model.LogParty) (spot[T], error) {
	for i := range *list {
		if match(&(*list)[i]) {
			return spot[T]{list, i, parties}, nil
		}
	}
	return spot[T]{}, rest.NotFound(kind, id)
}

// findPart reads the server of a target, and returns an error if the server has no such part.
func findPart[T any](ctx context.Context, s *Slice, q docstore.Reader, t partTarget[T]) error {
	base := t.base()
	if err := s.find(ctx, q, base); err != nil {
		return err
	}
	_, err := t.at(&base.found.Value)
	return err
}

// changePart changes a part of a server with fn in a transaction, and logs the part that fn returns.
func changePart[T any](
	ctx context.Context, s *Slice, t partTarget[T], event audit.Type,
	fn func(tx *docstore.Tx, server *model.AuthServer, at spot[T]) (T, error),
) error {
	return s.change(ctx, t.base(), event, func(tx *docstore.Tx, server *model.AuthServer) ([]model.LogParty, error) {
		at, err := t.at(server)
		if err != nil {
			return nil, err
		}
		part, err := fn(tx, server, at)
		if err != nil {
			return nil, err
		}
		return at.parties(&part), nil
	})
}

// replacePart changes a copy of the part with apply and stores the copy. If priority is not 0, it also moves the part to the position
// priority.
func replacePart[T any](
	ctx context.Context, s *Slice, t partTarget[T], event audit.Type, priority int,
	apply func(tx *docstore.Tx, server *model.AuthServer, part *T) error,
) error {
	return changePart(ctx, s, t, event, func(tx *docstore.Tx, server *model.AuthServer, at spot[T]) (T, error) {
		part := *at.part()
		if err := apply(tx, server, &part); err != nil {
			return part, err
		}
		*at.part() = part
		if priority > 0 {
			*at.list = place(slices.Delete(*at.list, at.i, at.i+1), part, priority)
		}
		return part, nil
	})
}

// deletePart deletes a part. If system returns true, the part is built-in and deletePart returns an error. The error states kind, the kind
// of the part, and names the request member `member`.
func deletePart[T any](ctx context.Context, s *Slice, t partTarget[T], event audit.Type, kind, member string, system func(*T) bool) error {
	return changePart(ctx, s, t, event, func(_ *docstore.Tx, _ *model.AuthServer, at spot[T]) (T, error) {
		part := *at.part()
		if system(&part) {
			return part, rest.Invalid(member, "A built-in %s cannot be deleted", kind)
		}
		*at.list = slices.Delete(*at.list, at.i, at.i+1)
		return part, nil
	})
}

// enterPart returns the operation that sets the status of a part. fields returns pointers to the status of a part and to the time of its
// last change.
func enterPart[T any, P partTarget[T]](
	s *Slice, status model.Status, event audit.Type, fields func(*T) (*model.Status, *time.Time),
) func(context.Context, P) (rest.NoContent, error) {
	return func(ctx context.Context, t P) (rest.NoContent, error) {
		return rest.NoContent{}, changePart(ctx, s, t, event, func(_ *docstore.Tx, _ *model.AuthServer, at spot[T]) (T, error) {
			now, updated := fields(at.part())
			if *now == status {
				return *at.part(), errUnchanged
			}
			*now, *updated = status, s.Now()
			return *at.part(), nil
		})
	}
}
