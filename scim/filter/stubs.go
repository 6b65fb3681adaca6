package filter

import (
	"errors"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

var errStub = errors.New("not yet")

func (e And) String() string       { return "" }
func (e Or) String() string        { return "" }
func (e Not) String() string       { return "" }
func (e Compare) String() string   { return "" }
func (e Present) String() string   { return "" }
func (e ValuePath) String() string { return "" }
func (p Path) String() string      { return "" }

// Options widens the grammar.
type Options struct {
	DeepPaths  bool // allow a.b.c.d; the path's Sub holds "b.c.d"
	BareValues bool // allow comparison values without quotes
}

const (
	MaxLength = 8192
	MaxDepth  = 32
)

func Parse(s string) (Expr, error)                                { return nil, errStub }
func ParseWith(s string, o Options) (Expr, error)                 { return nil, errStub }
func ParsePath(s string) (Path, error)                            { return Path{}, errStub }
func Check(e Expr, rt *schema.ResourceType) error                 { return errStub }
func Eval(e Expr, r *scim.Resource, rt *schema.ResourceType) bool { return false }
func Fold(s string) string                                        { return s }
func Walk(e Expr, visit func(Expr) bool)                          {}
func Equal(a, b Expr) bool                                        { return false }
