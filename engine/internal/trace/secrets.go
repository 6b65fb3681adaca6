package trace

import (
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// WithoutSecrets returns the value of an attribute with secrets replaced. Recorded exchanges contain no secrets: package wirelog removes
// them.
func WithoutSecrets(name string, value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case *scim.Object:
		out := scim.NewObject()
		for sub, inner := range v.All() {
			out.Set(sub, WithoutSecrets(sub, inner))
		}
		value = out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = WithoutSecrets("", inner)
		}
		value = out
	}
	if wirelog.Secret(name) {
		return wirelog.Redacted
	}
	return value
}
