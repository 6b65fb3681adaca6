package catalog

import (
	"iter"
	"slices"
)

// Mode is a sign-on mode of an application.
type Mode string

// The sign-on modes that applications can have.
const (
	Bookmark            Mode = "BOOKMARK"
	BasicAuth           Mode = "BASIC_AUTH"
	SAML                Mode = "SAML_2_0"
	BrowserPlugin       Mode = "BROWSER_PLUGIN"
	SecurePasswordStore Mode = "SECURE_PASSWORD_STORE"
	AutoLogin           Mode = "AUTO_LOGIN"
	OpenIDConnect       Mode = "OPENID_CONNECT"
)

// Traits are the properties of a sign-on mode.
type Traits struct {
	// UserCredentials is true if the mode signs in with credentials that the service stores, so that the application has a credential scheme.
	UserCredentials bool
	// Provisioning is true if the application can have a provisioning connection.
	Provisioning bool
	// Signing is true if the application signs assertions or tokens, so that it has a key from the start.
	Signing bool
}

// traits has one entry for each mode.
var traits = []struct {
	mode Mode
	Traits
}{
	{Bookmark, Traits{}},
	{BasicAuth, Traits{UserCredentials: true}},
	{SAML, Traits{Provisioning: true, Signing: true}},
	{BrowserPlugin, Traits{UserCredentials: true, Provisioning: true}},
	{SecurePasswordStore, Traits{UserCredentials: true, Provisioning: true}},
	{AutoLogin, Traits{UserCredentials: true, Provisioning: true}},
	{OpenIDConnect, Traits{Signing: true}},
}

// Modes returns the sign-on modes that applications can have, in the order of the documentation.
func Modes() []Mode {
	modes := make([]Mode, 0, len(traits))
	for _, t := range traits {
		modes = append(modes, t.mode)
	}
	return modes
}

// Traits returns the traits of the mode. For an unknown mode, they are all false.
func (m Mode) Traits() Traits {
	for _, t := range traits {
		if t.mode == m {
			return t.Traits
		}
	}
	return Traits{}
}

// Known reports whether applications can have the mode.
func (m Mode) Known() bool { return slices.Contains(Modes(), m) }

// Kind is the type of the value of a setting.
type Kind int

// The kinds of settings.
const (
	Text   Kind = iota // a string
	URL                // a string that is an absolute http or https URL
	Bool               // a boolean
	Object             // an object, stored unchanged
	List               // an array, stored unchanged
	Any                // a value of any type, stored unchanged
)

// Setting is a member of settings.app or settings.signOn.
type Setting struct {
	Name     string
	Kind     Kind
	Required bool
	// Alias is another name that requests may use. Responses contain Name.
	Alias string
}

// Entry is an application that can be added.
type Entry struct {
	// Name is the value of "name" in requests. It is empty for the custom applications, whose name is generated.
	Name string
	// Modes lists the sign-on modes of the entry. The first one is the default.
	Modes []Mode
	// App lists the members of settings.app.
	App []Setting
	// SignOn lists the members of settings.signOn; see SignOnFor.
	SignOn []Setting
	// SCIM is true if the integration provisions users, so that app users have a profile even before a connection is configured.
	SCIM bool
}

// Custom reports whether instances of the entry have a generated name and are provisioned in the style of custom integrations.
func (e *Entry) Custom() bool { return e.Name == "" }

// SignOnFor returns the members of settings.signOn in the mode. The mode BROWSER_PLUGIN has none: settings.app configures it.
func (e *Entry) SignOnFor(m Mode) []Setting {
	if m == BrowserPlugin {
		return nil
	}
	return e.SignOn
}

// Has reports whether applications of the entry can have the mode.
func (e *Entry) Has(m Mode) bool { return slices.Contains(e.Modes, m) }

func text(name string) Setting             { return Setting{Name: name, Kind: Text} }
func link(name string) Setting             { return Setting{Name: name, Kind: URL} }
func flag(name string) Setting             { return Setting{Name: name, Kind: Bool} }
func object(name string) Setting           { return Setting{Name: name, Kind: Object} }
func list(name string) Setting             { return Setting{Name: name, Kind: List} }
func required(s Setting) Setting           { s.Required = true; return s }
func also(s Setting, alias string) Setting { s.Alias = alias; return s }

// named returns an entry with the settings that all integrations known by name share.
func named(name string, modes ...Mode) Entry {
	return Entry{Name: name, Modes: modes, App: []Setting{link("url"), text("orgName")}, SignOn: samlOptions}
}

// provisioned sets SCIM: the integration provisions users.
func provisioned(e Entry) Entry { e.SCIM = true; return e }

// AttributeStatements is the member of settings.signOn whose elements have their own validation.
const AttributeStatements = "attributeStatements"

// InlineHooks is the member of settings.signOn that refers to hooks.
const InlineHooks = "inlineHooks"

// samlOptions are the optional members of settings.signOn for SAML_2_0.
var samlOptions = []Setting{
	text("defaultRelayState"), text("idpIssuer"),
	flag("responseSigned"), flag("assertionSigned"), flag("honorForceAuthn"), flag("requestCompressed"),
	object("slo"), object("participateSlo"), object("spCertificate"),
	flag("allowMultipleAcsEndpoints"), list("acsEndpoints"),
	list(AttributeStatements), list("configuredAttributeStatements"), list(InlineHooks),
	link("ssoAcsUrlOverride"), text("audienceOverride"), link("recipientOverride"), link("destinationOverride"),
}

// entries is the whole catalog: templates first, then integrations by name, then the custom applications.
var entries = []Entry{
	{
		Name: "bookmark", Modes: []Mode{Bookmark},
		App: []Setting{flag("requestIntegration"), required(link("url"))},
	},
	{
		Name: "template_basic_auth", Modes: []Mode{BasicAuth},
		App: []Setting{required(link("url")), required(link("authURL"))},
	},
	{
		Name: "template_swa", Modes: []Mode{BrowserPlugin},
		App: []Setting{
			required(link("url")), required(text("usernameField")), required(text("passwordField")),
			required(text("buttonField")), text("loginUrlRegex"),
		},
	},
	{
		Name: "template_swa3field", Modes: []Mode{BrowserPlugin},
		App: []Setting{
			required(link("targetURL")), required(also(text("usernameSelector"), "userNameSelector")),
			required(text("passwordSelector")), required(text("buttonSelector")),
			required(text("extraFieldSelector")), required(text("extraFieldValue")), text("loginUrlRegex"),
		},
	},
	{
		Name: "template_sps", Modes: []Mode{SecurePasswordStore},
		App: []Setting{
			required(link("url")), required(text("usernameField")), required(text("passwordField")),
			text("optionalField1"), text("optionalField1Value"),
			text("optionalField2"), text("optionalField2Value"),
			text("optionalField3"), text("optionalField3Value"),
		},
	},
	{
		Name: "svc_org2org", Modes: []Mode{SAML},
		App:    []Setting{link("acsUrl"), link("audRestriction"), link("baseUrl")},
		SignOn: samlOptions,
	},

	{Name: "oidc_client", Modes: []Mode{OpenIDConnect}},

	provisioned(named("scim2_test_app", SAML, BrowserPlugin)),
	named("zendesk", SAML, BrowserPlugin),
	named("workday", SAML, BrowserPlugin),
	named("salesforce", SAML, BrowserPlugin),
	named("facebook", BrowserPlugin, SAML),
	named("amazon_aws", SAML, BrowserPlugin),
	named("boxnet", SAML, BrowserPlugin),
	named("aws_console", BrowserPlugin, SAML),

	{
		Modes: []Mode{SAML},
		SignOn: append([]Setting{
			required(link("ssoAcsUrl")), required(text("audience")), required(link("recipient")),
			required(link("destination")), required(text("subjectNameIdTemplate")),
			required(text("subjectNameIdFormat")), required(text("signatureAlgorithm")),
			required(text("digestAlgorithm")), required(text("authnContextClassRef")),
		}, samlOptions...),
	},
	{
		Modes:  []Mode{AutoLogin},
		SignOn: []Setting{required(link("loginUrl")), link("redirectUrl")},
	},
}

// All iterates over all entries in the order of the table.
func All() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for i := range entries {
			if !yield(&entries[i]) {
				return
			}
		}
	}
}

// Named returns the entry with the name.
func Named(name string) (*Entry, bool) {
	if name == "" {
		return nil, false
	}
	for e := range All() {
		if e.Name == name {
			return e, true
		}
	}
	return nil, false
}

// CustomWith returns the custom entry of the mode.
func CustomWith(m Mode) (*Entry, bool) {
	for e := range All() {
		if e.Custom() && e.Has(m) {
			return e, true
		}
	}
	return nil, false
}

// Names returns the names of all entries that have a name.
func Names() []string {
	var names []string
	for e := range All() {
		if !e.Custom() {
			names = append(names, e.Name)
		}
	}
	return names
}
