package model

import (
	"strings"

	"golang.org/x/text/language"

	"github.com/scimwright/scimwright/internal/docstore"
)

// SMSVerifyCode is the type of templates for text messages with a verification code. It is the only type.
const SMSVerifyCode = "SMS_VERIFY_CODE"

// The macros of a template.
const (
	SMSMacroCode = "${code}"
	SMSMacroOrg  = "${org.name}"
)

// SMSTemplate is a template for text messages.
type SMSTemplate struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Text string `json:"text"`
	// Translations holds the texts in other languages, by language tag (BCP 47) in its canonical form.
	Translations map[string]string `json:"translations,omitempty"`
}

// smsLanguage is the language of texts that are not translations.
const smsLanguage = "en"

// For returns the text in the language that the user prefers among those of the template, and the tag of that language. Text counts as
// English. The user's preference is preferredLanguage, then the language of locale.
func (t *SMSTemplate) For(u *User) (text, tag string) {
	preferred, _, _ := language.ParseAcceptLanguage(u.Text("preferredLanguage"))
	if locale, err := language.Parse(strings.ReplaceAll(u.Text("locale"), "_", "-")); err == nil {
		preferred = append(preferred, locale)
	}
	for _, wanted := range preferred {
		for at := wanted; at != language.Und; at = at.Parent() {
			if text, ok := t.Translations[at.String()]; ok {
				return text, at.String()
			}
			if at.String() == smsLanguage {
				return t.Text, smsLanguage
			}
		}
	}
	return t.Text, smsLanguage
}

func smsTemplateCollection() docstore.Collection[SMSTemplate] {
	return docstore.NewCollection[SMSTemplate]("sms_templates")
}
