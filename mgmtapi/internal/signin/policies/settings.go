package policies

import (
	"cmp"
	"reflect"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Settings are the settings of the password policy or of the enrollment policy. An omitted part has the default values.
type Settings struct {
	Password *PasswordPart `json:"password,omitempty" doc:"Passwords and lockouts."`
	Recovery *RecoveryPart `json:"recovery,omitempty" doc:"Recovery of forgotten passwords."`

	Authenticators []Authenticator `json:"authenticators,omitempty" max:"1" doc:"Authenticators of the enrollment policy (Optional Password)."`
}

// Authenticator is an authenticator of the enrollment policy.
type Authenticator struct {
	Key    string      `json:"key" required:"true" enum:"svc_password" doc:"The authenticator."`
	Enroll *Enrollment `json:"enroll" required:"true" doc:"Enrollment of the authenticator: required, optional or not allowed."`
}

// Enrollment specifies whether users must, can or cannot have an authenticator.
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

// passwordKey is the key of the password authenticator.
const passwordKey = "svc_password"

// shownEnrollment returns the settings of the enrollment policy in JSON form.
func shownEnrollment(p model.PasswordEnrollment) *Settings {
	return &Settings{Authenticators: []Authenticator{{Key: passwordKey, Enroll: &Enrollment{Self: string(cmp.Or(p, model.PasswordRequired))}}}}
}

// enrollment returns the setting of the enrollment policy, by default the initial one.
func (s *Settings) enrollment() model.PasswordEnrollment {
	if s == nil || len(s.Authenticators) == 0 {
		return ""
	}
	return model.PasswordEnrollment(s.Authenticators[0].Enroll.Self)
}

// PasswordPart holds the settings for passwords and lockouts.
type PasswordPart struct {
	Complexity *Complexity `json:"complexity,omitempty" doc:"Requirements for passwords."`
	Age        *Age        `json:"age,omitempty" doc:"Expiry and history of passwords."`
	Lockout    *Lockout    `json:"lockout,omitempty" doc:"Lockout after failed attempts."`
}

// Complexity holds the requirements for passwords.
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

// Age holds the settings for the expiry and the history of passwords.
type Age struct {
	MaxAgeDays int `json:"maxAgeDays" default:"0" min:"0" max:"999" doc:"Days until a password expires, checked at sign-in. 0: never."`

	ExpireWarnDays int `json:"expireWarnDays" default:"0" min:"0" max:"0" doc:"Always 0: users are not warned."`
	MinAgeMinutes  int `json:"minAgeMinutes" default:"0" min:"0" max:"9999" doc:"Minutes before a password can be changed. 0: no limit."`
	HistoryCount   int `json:"historyCount" default:"4" min:"0" max:"30" doc:"Number of previous passwords that a new one must differ from."`
}

// Lockout holds the settings for lockouts after failed attempts.
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

// RecoveryPart holds the settings for the recovery of forgotten passwords.
type RecoveryPart struct {
	Factors *RecoveryFactors `json:"factors,omitempty" doc:"Ways of recovery."`
}

// RecoveryFactors are the ways of recovery.
type RecoveryFactors struct {
	Question *QuestionFactor `json:"recovery_question,omitempty" doc:"Recovery by the answer to a question."`
	Email    *EmailFactor    `json:"svc_email,omitempty" doc:"Recovery by a link that is sent by email."`
}

// QuestionFactor is the recovery question.
type QuestionFactor struct {
	Status     string              `json:"status" default:"ACTIVE" enum:"ACTIVE" doc:"Status. Cannot be changed."`
	Properties *QuestionProperties `json:"properties,omitempty" doc:"Properties that can be changed."`
}

// QuestionProperties are the properties of the recovery question that can be changed.
type QuestionProperties struct {
	Complexity *AnswerComplexity `json:"complexity,omitempty" doc:"Requirements for answers."`
}

// AnswerComplexity holds the requirements for answers.
type AnswerComplexity struct {
	MinLength int `json:"minLength" default:"4" min:"1" max:"100" doc:"Minimum number of characters."`
}

// EmailFactor is the link by email.
type EmailFactor struct {
	Status     string           `json:"status" default:"ACTIVE" enum:"ACTIVE" doc:"Status. Cannot be changed."`
	Properties *EmailProperties `json:"properties,omitempty" doc:"Properties that can be changed."`
}

// EmailProperties are the properties of the link that can be changed.
type EmailProperties struct {
	RecoveryToken *TokenLife `json:"recoveryToken,omitempty" doc:"Token in the link."`
}

// TokenLife is the validity of a token.
type TokenLife struct {
	Minutes int `json:"tokenLifetimeMinutes" default:"60" min:"1" max:"43200" doc:"Validity of the link in minutes."`
}

// check records an error for each setting that a policy of the type does not have. optional reports whether Optional Password is enabled.
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

// shown returns stored settings in JSON form.
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

// stored returns the settings to store. Omitted settings have the default values.
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
