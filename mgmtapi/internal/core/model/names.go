package model

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/expression"
)

// Kind returns the type of the values for expressions.
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

// ElementKind returns the type of a value, or of the elements of an array, for expressions.
func (p *Property) ElementKind() expression.Kind {
	if p.Type == PropertyArray && p.Items != nil {
		return (&Property{Type: p.Items.Type}).Kind()
	}
	return p.Kind()
}

// Kinds returns the kinds of the attributes of users of the type, for expressions.
func (s *UserSchema) Kinds() map[string]expression.Kind {
	kinds := map[string]expression.Kind{}
	for name, p := range s.All() {
		kinds[name] = p.Kind()
	}
	return kinds
}

// UserKinds returns the kinds of the attributes of users of all types, for expressions. An attribute with different types is of any kind.
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
