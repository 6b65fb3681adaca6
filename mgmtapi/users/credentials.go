package users

import (
	"unicode/utf8"

	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/password"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// CredentialsInput are credentials as callers send them.
type CredentialsInput struct {
	Password         *PasswordInput `json:"password" doc:"Password; an empty object counts as absent."`
	RecoveryQuestion *RecoveryInput `json:"recovery_question" doc:"Recovery question and answer."`
	Provider         *ProviderInput `json:"provider" doc:"Who checks the password. Read-only once the user exists."`
}

// PasswordInput is a password as callers send it.
type PasswordInput struct {
	Value *string        `json:"value" writeOnly:"true" max:"72" doc:"The password."`
	Hash  map[string]any `json:"hash" writeOnly:"true" doc:"Not supported yet."`
	Hook  map[string]any `json:"hook" writeOnly:"true" doc:"Not supported yet."`
}

// RecoveryInput is a recovery question with its answer.
type RecoveryInput struct {
	Question string `json:"question" required:"true" doc:"The question."`
	Answer   string `json:"answer" required:"true" writeOnly:"true" doc:"The answer, at least four characters."`
}

// ProviderInput names a provider of credentials.
type ProviderInput struct {
	Type string `json:"type" required:"true" enum:"SVC,IMPORT,FEDERATION,SOCIAL" doc:"Type of the provider."`
	Name string `json:"name" empty:"absent" doc:"Name of the provider, the same as its type."`
}

// minAnswer is the length of the shortest recovery answer, in characters.
const minAnswer = 4

func (c *CredentialsInput) password() (string, bool) {
	if c == nil || c.Password == nil || c.Password.Value == nil {
		return "", false
	}
	return *c.Password.Value, true
}

func (c *CredentialsInput) recovery() *RecoveryInput {
	if c == nil {
		return nil
	}
	return c.RecoveryQuestion
}

// given says whether there is anything to set.
func (c *CredentialsInput) given() bool {
	_, given := c.password()
	return given || c.recovery() != nil
}

// check records what is wrong with the credentials of a user with the login and the provider.
func (c *CredentialsInput) check(login string, provider model.ProviderType, causes *rest.Causes) {
	if c == nil {
		return
	}
	value, given := c.password()
	if p := c.Password; p != nil && count(given, p.Hash != nil, p.Hook != nil) > 1 {
		causes.Add("password", "Exactly one of value, hash and hook can be given")
	}
	external := provider.External()
	if given {
		if external {
			causes.Add("password", "A user with the provider %s has no password", provider)
		}
		if broken := password.BrokenRules(value, login); len(broken) > 0 {
			causes.Add("password", "%s", password.Unmet(broken))
		}
	}
	if q := c.RecoveryQuestion; q != nil {
		if external {
			causes.Add("recovery_question", "A user with the provider %s has no recovery question", provider)
		}
		q.check(causes)
	}
}

// check records what is wrong with a recovery question. That something is missing is said by the tags.
func (q *RecoveryInput) check(causes *rest.Causes) {
	switch answer := password.NormalAnswer(q.Answer); {
	case q.Question == "" || q.Answer == "":
	case utf8.RuneCountInString(answer) < minAnswer:
		causes.Add("recovery_question", "The answer must have at least %d characters", minAnswer)
	case answer == password.NormalAnswer(q.Question):
		causes.Add("recovery_question", "The answer must not be the question")
	}
}

// unsupported answers imports of passwords.
func (c *CredentialsInput) unsupported() error {
	if c != nil && c.Password != nil && (c.Password.Hash != nil || c.Password.Hook != nil) {
		return rest.Failf(rest.CodeUnsupported, "The import of hashed passwords and password hooks are not supported yet.")
	}
	return nil
}

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
