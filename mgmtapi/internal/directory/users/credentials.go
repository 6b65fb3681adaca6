package users

import (
	"context"
	"unicode/utf8"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

// CredentialsInput holds the credentials in a request.
type CredentialsInput struct {
	Password         *PasswordInput `json:"password" doc:"Password; an empty object counts as absent."`
	RecoveryQuestion *RecoveryInput `json:"recovery_question" doc:"Recovery question and answer."`
	Provider         *ProviderInput `json:"provider" doc:"Who checks the password. Read-only once the user exists."`
}

// PasswordInput is a password in a request.
type PasswordInput struct {
	Value *string    `json:"value" writeOnly:"true" max:"72" doc:"The password."`
	Hash  *HashInput `json:"hash" writeOnly:"true" doc:"Password hashed by another system. No policy applies. Verified at the first sign-in."`
	Hook  *HookInput `json:"hook" writeOnly:"true" doc:"Another system has the password. The password import hook verifies the first sign-in."`
}

// HookInput names the hook that verifies a password.
type HookInput struct {
	Type string `json:"type" required:"true" enum:"default" doc:"default: the active inline hook for password imports."`
}

// HashInput is an imported password hash in a request.
type HashInput struct {
	Algorithm      string `json:"algorithm" required:"true" enum:"BCRYPT,SHA-512,SHA-256,SHA-1,MD5,PBKDF2" doc:"The algorithm."`
	Value          string `json:"value" required:"true" max:"2048" doc:"The hash: 31 characters of radix64 for BCRYPT, base64 for the others."`
	Salt           string `json:"salt" max:"2048" doc:"The salt: 22 characters of radix64 for BCRYPT, base64 for the others."`
	SaltOrder      string `json:"saltOrder" doc:"PREFIX or POSTFIX: position of the salt, for SHA and MD5."`
	WorkFactor     int    `json:"workFactor" doc:"Cost of BCRYPT, 1 to 20."`
	IterationCount int    `json:"iterationCount" doc:"Iterations of PBKDF2, at least 4096."`
	KeySize        int    `json:"keySize" doc:"Size of the key that PBKDF2 derives, in bytes."`
	Digest         string `json:"digestAlgorithm" doc:"SHA256_HMAC or SHA512_HMAC, for PBKDF2."`
}

// stored returns the hash in its stored form.
func (h *HashInput) stored() *model.ImportedHash {
	return &model.ImportedHash{
		Algorithm: h.Algorithm, Value: h.Value, Salt: h.Salt, SaltOrder: h.SaltOrder, WorkFactor: h.WorkFactor,
		Iterations: h.IterationCount, KeySize: h.KeySize, Digest: h.Digest,
	}
}

// RecoveryInput is a recovery question with its answer.
type RecoveryInput struct {
	Question string `json:"question" required:"true" doc:"The question."`
	Answer   string `json:"answer" writeOnly:"true" doc:"The answer, at least four characters. Optional only for an unchanged question."`
}

// ProviderInput names a provider of credentials.
type ProviderInput struct {
	Type string `json:"type" required:"true" enum:"SVC,IMPORT,FEDERATION,SOCIAL" doc:"Type of the provider."`
	Name string `json:"name" empty:"absent" doc:"Name of the provider, the same as its type."`
}

func (c *CredentialsInput) password() (string, bool) {
	if c == nil || c.Password == nil || c.Password.Value == nil {
		return "", false
	}
	return *c.Password.Value, true
}

func (c *CredentialsInput) imported() *HashInput {
	if c == nil || c.Password == nil {
		return nil
	}
	return c.Password.Hash
}

// hooked reports whether a hook verifies the password.
func (c *CredentialsInput) hooked() bool {
	return c != nil && c.Password != nil && c.Password.Hook != nil
}

func (c *CredentialsInput) recovery() *RecoveryInput {
	if c == nil {
		return nil
	}
	return c.RecoveryQuestion
}

// given reports whether there are credentials to set.
func (c *CredentialsInput) given() bool {
	_, given := c.password()
	return given || c.imported() != nil || c.hooked() || c.recovery() != nil
}

// check records errors in the credentials of a user with the profile and the provider.
func (c *CredentialsInput) check(policy *model.PasswordSettings, profile map[string]any, provider model.ProviderType, causes *rest.Causes) {
	if c == nil {
		return
	}
	value, given := c.password()
	if p := c.Password; p != nil && count(given, p.Hash != nil, p.Hook != nil) > 1 {
		causes.Add("password", "Exactly one of value, hash and hook can be set")
	}
	external := provider.External()
	if given {
		if external {
			causes.Add("password", "A user with the provider %s has no password", provider)
		}
		if broken := password.BrokenRules(policy, value, profile); len(broken) > 0 {
			causes.Add("password", "%s", password.DescribeBroken(broken))
		}
	}
	if external && c.hooked() {
		causes.Add("password", "A user with the provider %s has no password", provider)
	}
	if hash := c.imported(); hash != nil {
		if external {
			causes.Add("password", "A user with the provider %s has no password", provider)
		}
		if hash.Algorithm != "" && hash.Value != "" { // if a member is missing, the check of the struct tags reports it
			password.CheckImported(*hash.stored(), func(member, text string) { causes.Add("credentials.password.hash."+member, "%s", text) })
		}
	}
	if q := c.RecoveryQuestion; q != nil {
		if external {
			causes.Add("recovery_question", "A user with the provider %s has no recovery question", provider)
		}
		q.check("credentials.recovery_question", policy, causes)
	}
}

// checkEnrollment rejects a password that an administrator sets for a user who does not require one.
func (c *CredentialsInput) checkEnrollment(enroll model.PasswordEnrollment, causes *rest.Causes) {
	if _, given := c.password(); enroll != model.PasswordRequired && (given || c.imported() != nil || c.hooked()) {
		causes.Add("password", "An administrator cannot set a password, because the enrollment policy does not require one")
	}
}

// dropRead drops a recovery question without an answer if it equals the stored one: a client that sends back a user as it was read includes
// the question.
func (c *CredentialsInput) dropRead(has *model.Recovery) {
	if q := c.recovery(); q != nil && q.Answer == "" && has != nil && q.Question == has.Question {
		c.RecoveryQuestion = nil
	}
}

// check records errors in the recovery question; path is its place in the request. The check of the struct tags reports a missing question.
func (q *RecoveryInput) check(path string, policy *model.PasswordSettings, causes *rest.Causes) {
	switch answer := password.NormalizeAnswer(q.Answer); {
	case q.Answer == "":
		causes.Blank(path + ".answer")
	case q.Question == "":
	case utf8.RuneCountInString(answer) < policy.MinAnswer:
		causes.Add("recovery_question", "The answer must have at least %d characters", policy.MinAnswer)
	case answer == password.NormalizeAnswer(q.Question):
		causes.Add("recovery_question", "The answer must differ from the question")
	}
}

// policyFor reads the password policy if there are credentials to validate.
func (s *Slice) policyFor(ctx context.Context, c *CredentialsInput) (model.PasswordSettings, error) {
	if !c.given() {
		return model.PasswordSettings{}, nil
	}
	return s.PasswordPolicy(ctx, s.Store.Reader())
}

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
