package appprofile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/expression"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// DefaultTemplate is the user name template of an application without a template.
const DefaultTemplate = "${source.login}"

// MaxTemplateLength is the maximum length of a template, in bytes.
const MaxTemplateLength = 1024

// CheckTemplate returns an error if a user name template is invalid. A template is a string with expressions in ${...}. user holds the
// attributes that users can have. The error is shown to the caller.
func CheckTemplate(text string, user map[string]expression.Kind) error {
	if len(text) > MaxTemplateLength {
		return fmt.Errorf("the template is longer than %d bytes", MaxTemplateLength)
	}
	_, err := expression.CompileTemplate(text, names(model.ToApp, user))
	return err
}

// templateExpression converts a template with its suffix to one expression: ${source.login} to source.login, x-${source.login} to "x-" +
// source.login.
func templateExpression(t model.UserNameTemplate) string {
	var parts []string
	literal := func(text string) {
		if text != "" {
			parts = append(parts, strconv.Quote(text))
		}
	}
	text := t.Template
	for {
		before, rest, found := strings.Cut(text, "${")
		literal(before)
		if !found {
			break
		}
		inner, after := expression.CutTemplate(rest)
		parts, text = append(parts, strings.TrimSpace(inner)), after
	}
	literal(t.Suffix)
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	for i, part := range parts {
		if !strings.HasPrefix(part, `"`) && !reference.MatchString(part) {
			parts[i] = "(" + part + ")"
		}
	}
	return strings.Join(parts, " + ")
}
