package model

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
)

// Kind returns the type that the values of the attribute have in expressions.
func (p *Property) Kind() expression.Kind {
	switch p.Type {
	case PropertyString:
		return expression.String
	case PropertyBoolean:
		return expression.Boolean
	case PropertyArray:
		return expression.Array
	default:
		return expression.Number
	}
}

// ElementKind returns the type that the values of the attribute have in expressions. For an array, it is the type of the elements.
func (p *Property) ElementKind() expression.Kind {
	if p.Type == PropertyArray && p.Items != nil {
		return (&Property{Type: p.Items.Type}).Kind()
	}
	return p.Kind()
}

// Kinds returns, for each attribute of users of the type, the type of its values in expressions.
func (s *UserSchema) Kinds() map[string]expression.Kind {
	kinds := map[string]expression.Kind{}
	for name, p := range s.All() {
		kinds[name] = p.Kind()
	}
	return kinds
}

// UserKinds returns, for each attribute of users of all user types, the type of its values in expressions. If the user types define an
// attribute with different types, expressions accept values of any type.
func (d Deps) UserKinds(ctx context.Context, q docstore.Reader) (map[string]expression.Kind, error) {
	kinds := (&UserSchema{}).Kinds()
	err := Each(ctx, q, d.UserSchemas, nil, func(doc docstore.Doc[UserSchema]) error {
		for name, p := range doc.Value.Custom {
			kind := p.Kind()
			if other, there := kinds[name]; there && other != kind {
				kind = expression.Any
			}
			kinds[name] = kind
		}
		return nil
	})
	return kinds, err
}
