package policies

import (
	"cmp"
	"reflect"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Settings are those of the password policy, and of the enrollment policy. A part that is not given has the values that it has at the
// beginning.
type Settings struct {
	Password *PasswordPart `json:"password,omitempty" doc:"Passwords and lockouts."`
	Recovery *RecoveryPart `json:"recovery,omitempty" doc:"Recovery of forgotten passwords."`

	Authenticators []Authenticator `json:"authenticators,omitempty" max:"1" doc:"Authenticators of the enrollment policy (Optional Password)."`
}

// Authenticator is what users sign in with.
type Authenticator struct {
	Key    string      `json:"key" required:"true" enum:"svc_password" doc:"The authenticator."`
	Enroll *Enrollment `json:"enroll" required:"true" doc:"Enrollment of the authenticator: required, optional or not allowed."`
}

// Enrollment says whether users have an authenticator.
type Enrollment struct {
	Self string `json:"self" required:"true"`
}

// MoreTags implements rest.Described.
func (Enrollment) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"self": `enum:"REQUIRED,OPTIONAL,NOT_ALLOWED" doc:"REQUIRED: a user without a password is PROVISIONED. OPTIONAL and NOT_ALLOWED: ` +
			`such a user is ACTIVE and signs in by email, and administrators cannot set passwords."`,
	}
}

// passwordKey names the password among the authenticators.
const passwordKey = "svc_password"

// shownEnrollment is what the enrollment policy says, as callers see it.
func shownEnrollment(p model.PasswordEnrollment) *Settings {
	return &Settings{Authenticators: []Authenticator{{Key: passwordKey, Enroll: &Enrollment{Self: string(cmp.Or(p, model.PasswordRequired))}}}}
}

// enrollment is what the enrollment policy is to say. What is not given is as at the beginning.
func (s *Settings) enrollment() model.PasswordEnrollment {
	if s == nil || len(s.Authenticators) == 0 {
		return ""
	}
	return model.PasswordEnrollment(s.Authenticators[0].Enroll.Self)
}

// PasswordPart is about passwords and lockouts.
type PasswordPart struct {
	Complexity *Complexity `json:"complexity,omitempty" doc:"Requirements for passwords."`
	Age        *Age        `json:"age,omitempty" doc:"Expiry and history of passwords."`
	Lockout    *Lockout    `json:"lockout,omitempty" doc:"Lockout after failed attempts."`
}

// Complexity says which passwords are good.
type Complexity struct {
	MinLength         int      `json:"minLength" default:"8" min:"1" max:"30" doc:"Minimum number of characters."`
	MinLowerCase      int      `json:"minLowerCase" default:"1" min:"0" max:"5" doc:"Minimum number of lower-case letters."`
	MinUpperCase      int      `json:"minUpperCase" default:"1" min:"0" max:"5" doc:"Minimum number of upper-case letters."`
	MinNumber         int      `json:"minNumber" default:"1" min:"0" max:"5" doc:"Minimum number of digits."`
	MinSymbol         int      `json:"minSymbol" default:"0" min:"0" max:"5" doc:"Minimum number of symbols."`
	ExcludeUsername   bool     `json:"excludeUsername" default:"true" doc:"Rejects passwords that contain parts of the login."`
	ExcludeAttributes []string `json:"excludeAttributes" max:"2"`
}

// MoreTags implements rest.Described.
func (Complexity) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"excludeAttributes": `enum:"firstName,lastName" doc:"Rejects passwords with the value of one of these attributes, if it has at ` +
			`least four characters."`,
	}
}

// Age says for how long a password is good.
type Age struct {
	MaxAgeDays int `json:"maxAgeDays" default:"0" min:"0" max:"999" doc:"Days until it must be changed, checked at sign-in. 0 means never."`

	ExpireWarnDays int `json:"expireWarnDays" default:"0" min:"0" max:"0" doc:"Always 0: users are not warned."`
	MinAgeMinutes  int `json:"minAgeMinutes" default:"0" min:"0" max:"9999" doc:"Minimum age in minutes for a strict change. 0: none."`
	HistoryCount   int `json:"historyCount" default:"4" min:"0" max:"30" doc:"Number of previous passwords that a new one must differ from."`
}

// Lockout says how often one may be wrong.
type Lockout struct {
	MaxAttempts         int  `json:"maxAttempts" default:"10" min:"0" max:"100" doc:"Consecutive failures that lock a user out. 0: never."`
	AutoUnlockMinutes   int  `json:"autoUnlockMinutes" default:"0" min:"0" max:"99999"`
	ShowLockoutFailures bool `json:"showLockoutFailures" default:"true" doc:"Reports the lockout to users who sign in."`
}

// MoreTags implements rest.Described.
func (Lockout) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"autoUnlockMinutes": `doc:"When a lockout ends automatically, checked at the next sign-in. 0 means never."`,
	}
}

// RecoveryPart is about the recovery of forgotten passwords.
type RecoveryPart struct {
	Factors *RecoveryFactors `json:"factors,omitempty" doc:"Ways of recovery."`
}

// RecoveryFactors are the ways of recovery.
type RecoveryFactors struct {
	Question *QuestionFactor `json:"recovery_question,omitempty" doc:"The recovery question."`
	Email    *EmailFactor    `json:"svc_email,omitempty" doc:"A link by email."`
}

// QuestionFactor is the recovery question.
type QuestionFactor struct {
	Status     string              `json:"status" default:"ACTIVE" enum:"ACTIVE" doc:"Status. Cannot be changed."`
	Properties *QuestionProperties `json:"properties,omitempty" doc:"Properties that can be changed."`
}

// QuestionProperties are what can be set of the recovery question.
type QuestionProperties struct {
	Complexity *AnswerComplexity `json:"complexity,omitempty" doc:"Requirements for answers."`
}

// AnswerComplexity says which answers are good.
type AnswerComplexity struct {
	MinLength int `json:"minLength" default:"4" min:"1" max:"100" doc:"Minimum number of characters."`
}

// EmailFactor is the link by email.
type EmailFactor struct {
	Status     string           `json:"status" default:"ACTIVE" enum:"ACTIVE" doc:"Status. Cannot be changed."`
	Properties *EmailProperties `json:"properties,omitempty" doc:"Properties that can be changed."`
}

// EmailProperties are what can be set of the link.
type EmailProperties struct {
	RecoveryToken *TokenLife `json:"recoveryToken,omitempty" doc:"Token in the link."`
}

// TokenLife is how long a token is good.
type TokenLife struct {
	Minutes int `json:"tokenLifetimeMinutes" default:"60" min:"1" max:"43200" doc:"Validity of the link in minutes."`
}

// check rejects settings that a policy of the type does not have. Optional tells whether Optional Password is enabled.
func (s *Settings) check(of model.PolicyType, optional bool, causes *rest.Causes) {
	switch {
	case of != model.PolicyPassword && (s.Password != nil || s.Recovery != nil):
		causes.Add("settings", "A policy of the type %s has no settings for passwords", of)
	case of != model.PolicyEnroll && len(s.Authenticators) > 0:
		causes.Add("settings.authenticators", "A policy of the type %s has no authenticators", of)
	case !optional && len(s.Authenticators) > 0:
		causes.Add("settings.authenticators", "Optional Password is not enabled")
	}
}

const days = 24 * time.Hour

// shown are stored settings as callers see them.
func shown(p *model.PasswordSettings) *Settings {
	exclude := p.ExcludeAttributes
	if exclude == nil {
		exclude = []string{}
	}
	return &Settings{
		Password: &PasswordPart{
			Complexity: &Complexity{
				MinLength: p.MinLength, MinLowerCase: p.MinLower, MinUpperCase: p.MinUpper, MinNumber: p.MinNumber, MinSymbol: p.MinSymbol,
				ExcludeUsername: p.ExcludeLogin, ExcludeAttributes: exclude,
			},
			Age:     &Age{MaxAgeDays: int(p.MaxAge / days), MinAgeMinutes: int(p.MinAge / time.Minute), HistoryCount: p.History},
			Lockout: &Lockout{MaxAttempts: p.MaxAttempts, AutoUnlockMinutes: int(p.AutoUnlock / time.Minute), ShowLockoutFailures: !p.HideLockout},
		},
		Recovery: &RecoveryPart{Factors: &RecoveryFactors{
			Question: &QuestionFactor{Status: active, Properties: &QuestionProperties{Complexity: &AnswerComplexity{MinLength: p.MinAnswer}}},
			Email:    &EmailFactor{Status: active, Properties: &EmailProperties{RecoveryToken: &TokenLife{Minutes: int(p.TokenLife / time.Minute)}}},
		}},
	}
}

// stored are the settings to be kept. What is not given is as at the beginning.
func (s *Settings) stored() *model.PasswordSettings {
	p := model.DefaultPasswordSettings()
	if s == nil {
		return &p
	}
	if given := s.Password; given != nil {
		if c := given.Complexity; c != nil {
			p.MinLength, p.MinLower, p.MinUpper, p.MinNumber, p.MinSymbol = c.MinLength, c.MinLowerCase, c.MinUpperCase, c.MinNumber, c.MinSymbol
			p.ExcludeLogin, p.ExcludeAttributes = c.ExcludeUsername, c.ExcludeAttributes
		}
		if a := given.Age; a != nil {
			p.MaxAge, p.MinAge, p.History = time.Duration(a.MaxAgeDays)*days, time.Duration(a.MinAgeMinutes)*time.Minute, a.HistoryCount
		}
		if l := given.Lockout; l != nil {
			p.MaxAttempts, p.AutoUnlock, p.HideLockout = l.MaxAttempts, time.Duration(l.AutoUnlockMinutes)*time.Minute, !l.ShowLockoutFailures
		}
	}
	if given := s.Recovery; given != nil && given.Factors != nil {
		if q := given.Factors.Question; q != nil && q.Properties != nil && q.Properties.Complexity != nil {
			p.MinAnswer = q.Properties.Complexity.MinLength
		}
		if e := given.Factors.Email; e != nil && e.Properties != nil && e.Properties.RecoveryToken != nil {
			p.TokenLife = time.Duration(e.Properties.RecoveryToken.Minutes) * time.Minute
		}
	}
	return &p
}
