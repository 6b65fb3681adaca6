package smstemplates

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Slice serves the templates.
type Slice struct{ model.Deps }

// New returns the slice.
func New(d model.Deps) *Slice { return &Slice{Deps: d} }

const (
	tag  = "SMS templates"
	root = "/api/v1/templates/sms"
	one  = root + "/{templateId}"
	kind = "SmsTemplate"
)

// Limits of a template.
const (
	// MaxTemplates is the maximum number of templates.
	MaxTemplates = 100
	maxText      = 161 // characters
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	read, write := []string{"svc.templates.read"}, []string{"svc.templates.manage"}
	return []rest.Route{
		rest.Op[listRequest, rest.Page[SMSTemplate]]{
			ID: "listSmsTemplates", Route: "GET " + root, Tag: tag, Scopes: read, Summary: "Lists all SMS templates", Do: s.list,
		},
		rest.Op[createRequest, SMSTemplate]{
			ID: "createSmsTemplate", Route: "POST " + root, Tag: tag, Scopes: write, Summary: "Creates an SMS template", Check: checkCreate,
			Do: s.create,
		},
		rest.Op[target, SMSTemplate]{
			ID: "getSmsTemplate", Route: "GET " + one, Tag: tag, Scopes: read, Summary: "Reads an SMS template",
			Find: lookup.In(s.Store, s.find, (*target).self),
			Do:   func(ctx context.Context, t *target) (SMSTemplate, error) { return render(ctx, t.found), nil },
		},
		rest.Op[replaceRequest, SMSTemplate]{
			ID: "replaceSmsTemplate", Route: "PUT " + one, Tag: tag, Scopes: write, Summary: "Replaces an SMS template",
			Find:  lookup.In(s.Store, s.find, (*replaceRequest).self),
			Check: checkReplace, Do: func(ctx context.Context, r *replaceRequest) (SMSTemplate, error) {
				return s.change(ctx, &r.target, func(t *model.SMSTemplate) { *t = r.Body.stored() })
			},
		},
		rest.Op[updateRequest, SMSTemplate]{
			ID: "updateSmsTemplate", Route: "POST " + one, Tag: tag, Scopes: write, Summary: "Updates the given members of an SMS template",
			Description: "Translations are merged: translations of other languages are not modified.",
			Find:        lookup.In(s.Store, s.find, (*updateRequest).self),
			Check:       checkUpdate, Do: func(ctx context.Context, r *updateRequest) (SMSTemplate, error) {
				return s.change(ctx, &r.target, r.Body.merge)
			},
		},
		rest.Op[target, rest.NoContent]{
			ID: "deleteSmsTemplate", Route: "DELETE " + one, Tag: tag, Scopes: write, Summary: "Deletes an SMS template",
			Find: lookup.In(s.Store, s.find, (*target).self), Do: s.delete,
		},
	}
}

// SMSTemplate is a template in JSON.
type SMSTemplate struct {
	ID           string            `json:"id" readOnly:"true" doc:"Id of the template, for the parameter templateId of factor operations."`
	Name         string            `json:"name" readOnly:"true" doc:"Name of the template."`
	Type         string            `json:"type" readOnly:"true" enum:"SMS_VERIFY_CODE" doc:"Type of the template."`
	Template     string            `json:"template" readOnly:"true" doc:"Text of the message."`
	Translations map[string]string `json:"translations" readOnly:"true" doc:"Texts in other languages, by language tag."`
	Created      rest.Time         `json:"created" readOnly:"true" doc:"When the template was created."`
	LastUpdated  rest.Time         `json:"lastUpdated" readOnly:"true" doc:"When the template was last changed."`
	Links        rest.Links        `json:"_links" readOnly:"true" doc:"Link to the template."`
}

func render(ctx context.Context, doc docstore.Doc[model.SMSTemplate]) SMSTemplate {
	t := doc.Value
	if t.Translations == nil {
		t.Translations = map[string]string{}
	}
	return SMSTemplate{
		ID: doc.ID, Name: t.Name, Type: t.Type, Template: t.Text, Translations: t.Translations,
		Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated),
		Links: rest.Links{"self": rest.To(rest.URL(ctx, "api", "v1", "templates", "sms", doc.ID), "GET", "PUT", "POST", "DELETE")},
	}
}

// Input is a complete template in requests.
type Input struct {
	Name string `json:"name" required:"true" max:"50" doc:"Name of the template."`
	Type string `json:"type" required:"true" enum:"SMS_VERIFY_CODE" doc:"Type of the template."`

	Template string `json:"template" required:"true" doc:"Text of at most 161 characters. Must contain ${code}; may contain ${org.name}."`

	Translations map[string]string `json:"translations" max:"200" doc:"Texts by language tag (BCP 47), with the rules of template."`
}

func (in *Input) stored() model.SMSTemplate {
	return model.SMSTemplate{Name: in.Name, Type: in.Type, Text: in.Template, Translations: canonical(in.Translations)}
}

// PartialInput is a partial template in requests.
type PartialInput struct {
	Name string `json:"name" empty:"absent" max:"50" doc:"Name of the template."`
	Type string `json:"type" empty:"absent" enum:"SMS_VERIFY_CODE" doc:"Type of the template."`

	Template string `json:"template" empty:"absent" doc:"Text of at most 161 characters. Must contain ${code}; may contain ${org.name}."`

	Translations map[string]string `json:"translations" max:"200" doc:"Texts by language tag (BCP 47), with the rules of template."`
}

// merge copies the given members to the template.
func (in *PartialInput) merge(t *model.SMSTemplate) {
	if in.Name != "" {
		t.Name = in.Name
	}
	if in.Template != "" {
		t.Text = in.Template
	}
	translations := maps.Clone(t.Translations)
	for name, text := range canonical(in.Translations) {
		if translations == nil {
			translations = map[string]string{}
		}
		translations[name] = text
	}
	t.Translations = translations
}

// canonical returns the translations with canonical language tags.
func canonical(translations map[string]string) map[string]string {
	out := make(map[string]string, len(translations))
	for name, text := range translations {
		out[language.Make(name).String()] = text
	}
	return out
}

var macro = regexp.MustCompile(`\$\{[^}]*\}?`)

// checkText records why a string cannot be the text of a template.
func checkText(member, text string, causes *rest.Causes) {
	if n := utf8.RuneCountInString(text); n > maxText {
		causes.Add(member, "The field must have at most %d characters", maxText)
	}
	if !strings.Contains(text, model.SMSMacroCode) {
		causes.Add(member, "The text must contain the macro %s", model.SMSMacroCode)
	}
	for _, name := range macro.FindAllString(text, -1) {
		if name != model.SMSMacroCode && name != model.SMSMacroOrg {
			causes.Add(member, "Unknown macro %s; the macros are %s and %s", name, model.SMSMacroCode, model.SMSMacroOrg)
		}
	}
}

func checkTranslations(translations map[string]string, causes *rest.Causes) {
	for _, name := range slices.Sorted(maps.Keys(translations)) {
		if parsed, err := language.Parse(name); err != nil || parsed == language.Und {
			causes.Add("translations", "%q is not a language tag", name)
			continue
		}
		checkText("translations."+name, translations[name], causes)
	}
}

type createRequest struct {
	Body Input `body:"required"`
}

// checkCreate checks the texts.
func checkCreate(_ context.Context, r *createRequest, causes *rest.Causes) error {
	r.Body.check(causes)
	return nil
}

func (in *Input) check(causes *rest.Causes) {
	if in.Template != "" {
		checkText("template", in.Template, causes)
	}
	checkTranslations(in.Translations, causes)
}

func (s *Slice) create(ctx context.Context, r *createRequest) (out SMSTemplate, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		n, err := s.SMSTemplates.Count(ctx, tx, nil)
		if err != nil {
			return err
		}
		if n >= MaxTemplates {
			return rest.Invalid("template", "There can be at most %d SMS templates", MaxTemplates)
		}
		doc, err := s.SMSTemplates.Insert(ctx, tx, model.NewID(model.KindSMSTemplate), r.Body.stored())
		if err != nil {
			return err
		}
		out = render(ctx, doc)
		return s.log(ctx, tx, audit.SMSTemplateCreate, doc)
	})
	return out, err
}

type listRequest struct {
	Type string `query:"templateType" enum:"SMS_VERIFY_CODE" doc:"Type of the templates."`
}

func (s *Slice) list(ctx context.Context, r *listRequest) (out rest.Page[SMSTemplate], err error) {
	err = model.Each(ctx, s.Store.Reader(), s.SMSTemplates, nil, func(doc docstore.Doc[model.SMSTemplate]) error {
		if r.Type == "" || doc.Value.Type == r.Type {
			out.Items = append(out.Items, render(ctx, doc))
		}
		return nil
	})
	return out, err
}

// target is the template in a path.
type target struct {
	ID string `path:"templateId" doc:"Id of the template."`

	found docstore.Doc[model.SMSTemplate]
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	t.found, err = s.SMSTemplates.Get(ctx, q, t.ID)
	return rest.Missing(err, kind, t.ID)
}

type replaceRequest struct {
	target
	Body Input `body:"required"`
}

// checkReplace checks the texts.
func checkReplace(_ context.Context, r *replaceRequest, causes *rest.Causes) error {
	r.Body.check(causes)
	return nil
}

type updateRequest struct {
	target
	Body PartialInput `body:"required"`
}

// checkUpdate checks the texts.
func checkUpdate(_ context.Context, r *updateRequest, causes *rest.Causes) error {
	if r.Body.Template != "" {
		checkText("template", r.Body.Template, causes)
	}
	checkTranslations(r.Body.Translations, causes)
	return nil
}

func (s *Slice) change(ctx context.Context, t *target, apply func(*model.SMSTemplate)) (out SMSTemplate, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		value := t.found.Value
		apply(&value)
		doc, err := s.SMSTemplates.Update(ctx, tx, t.found.ID, t.found.Rev, value)
		if err != nil {
			return err
		}
		out = render(ctx, doc)
		return s.log(ctx, tx, audit.SMSTemplateUpdate, doc)
	})
	return out, err
}

func (s *Slice) delete(ctx context.Context, t *target) (rest.NoContent, error) {
	return rest.NoContent{}, s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		if err := s.SMSTemplates.Delete(ctx, tx, t.found.ID); err != nil {
			return err
		}
		return s.log(ctx, tx, audit.SMSTemplateDelete, t.found)
	})
}

func (s *Slice) log(ctx context.Context, tx *docstore.Tx, event audit.Type, doc docstore.Doc[model.SMSTemplate]) error {
	return audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{audit.SMSTemplate(doc)}})
}
