package main

import (
	"fmt"

	"github.com/okta/okta-sdk-golang/v2/okta"
	"github.com/okta/okta-sdk-golang/v2/okta/query"

	"github.com/scimwright/scimwright/cmd/internal/sandbox/clients/go/walk"
)

func (w *work) applications() {
	visible := &okta.ApplicationVisibility{AutoSubmitToolbar: new(false),
		Hide: &okta.ApplicationVisibilityHide{IOS: new(false), Web: new(false)}}
	bookmark := okta.NewBookmarkApplication()
	bookmark.Label, bookmark.Visibility = "Bookmark of v2", visible
	bookmark.Settings = &okta.BookmarkApplicationSettings{
		App: &okta.BookmarkApplicationSettingsApplication{RequestIntegration: new(false), Url: "https://example.com/bookmark.htm"}}

	basic := okta.NewBasicAuthApplication()
	basic.Label = "Basic of v2"
	basic.Settings = &okta.BasicApplicationSettings{
		App: &okta.BasicApplicationSettingsApplication{AuthURL: "https://example.com/auth.html", Url: "https://example.com/login.html"}}

	swa := okta.NewSwaApplication()
	swa.Label = "SWA of v2"
	swa.Settings = &okta.SwaApplicationSettings{App: &okta.SwaApplicationSettingsApplication{
		ButtonField: "btn-login", PasswordField: "txtbox-password", UsernameField: "txtbox-username", Url: "https://example.com/login.html",
		LoginUrlRegex: "REGEX_EXPRESSION"}}

	three := okta.NewSwaThreeFieldApplication()
	three.Label = "Three fields of v2"
	three.Settings = &okta.SwaThreeFieldApplicationSettings{App: &okta.SwaThreeFieldApplicationSettingsApplication{
		ButtonSelector: "#btn", PasswordSelector: "#pw", UserNameSelector: "#user", TargetURL: "https://example.com/login",
		ExtraFieldSelector: ".login", ExtraFieldValue: "SOME"}}

	store := okta.NewSecurePasswordStoreApplication()
	store.Label = "Store of v2"
	store.Settings = &okta.SecurePasswordStoreApplicationSettings{App: &okta.SecurePasswordStoreApplicationSettingsApplication{
		Url: "https://example.com/login.html", UsernameField: "#user", PasswordField: "#pw", OptionalField1: "c", OptionalField1Value: "1"}}

	auto := okta.NewAutoLoginApplication()
	auto.Label, auto.Visibility = "Auto of v2", visible
	auto.Settings = &okta.AutoLoginApplicationSettings{
		SignOn: &okta.AutoLoginApplicationSettingsSignOn{LoginUrl: "https://example.com/login", RedirectUrl: "https://example.com/home"}}

	saml := okta.NewSamlApplication()
	saml.Label, saml.Visibility = "SAML of v2", visible
	saml.Settings = &okta.SamlApplicationSettings{SignOn: &okta.SamlApplicationSettingsSignOn{
		SsoAcsUrl: "https://example.com/acs", Recipient: "https://example.com/acs", Destination: "https://example.com/acs",
		Audience:  "urn:example:sp",
		IdpIssuer: "http://example.com/${org.externalKey}", SubjectNameIdTemplate: "${user.userName}",
		SubjectNameIdFormat: "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified", ResponseSigned: new(true), AssertionSigned: new(true),
		SignatureAlgorithm: "RSA_SHA256", DigestAlgorithm: "SHA256", HonorForceAuthn: new(true),
		AuthnContextClassRef: "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport", RequestCompressed: new(false),
	}}

	code, refresh, answer := okta.OAuthGrantType("authorization_code"), okta.OAuthGrantType("refresh_token"), okta.OAuthResponseType("code")
	oidc := okta.NewOpenIdConnectApplication()
	oidc.Label = "OIDC of v2"
	oidc.Credentials = &okta.OAuthApplicationCredentials{OauthClient: &okta.ApplicationCredentialsOAuthClient{
		AutoKeyRotation: new(true), TokenEndpointAuthMethod: "client_secret_post",
	}}
	oidc.Settings = &okta.OpenIdConnectApplicationSettings{OauthClient: &okta.OpenIdConnectApplicationSettingsClient{
		ApplicationType: "web", ClientUri: "https://example.com", LogoUri: "https://example.com/logo.png",
		RedirectUris:  []string{"https://example.com/callback"},
		ResponseTypes: []*okta.OAuthResponseType{&answer}, GrantTypes: []*okta.OAuthGrantType{&code, &refresh}, ConsentMethod: "REQUIRED",
	}}

	for _, a := range []struct {
		name     string
		app, got okta.App
	}{
		{"bookmark", bookmark, okta.NewBookmarkApplication()},
		{"basic", basic, okta.NewBasicAuthApplication()},
		{"SWA", swa, okta.NewSwaApplication()},
		{"three-field SWA", three, okta.NewSwaThreeFieldApplication()},
		{"password store", store, okta.NewSecurePasswordStoreApplication()},
		{"auto login", auto, okta.NewAutoLoginApplication()},
		{"SAML", saml, okta.NewSamlApplication()},
		{"OIDC", oidc, okta.NewOpenIdConnectApplication()},
	} {
		w.Step("create, read and write back an application: "+a.name, func() error {
			created, _, err := w.client.Application.CreateApplication(w.ctx, a.app, query.NewQueryParams(query.WithActivate(true)))
			if err != nil {
				return err
			}
			id := idOf(created)
			read, _, err := w.client.Application.GetApplication(w.ctx, id, a.got, nil)
			if err != nil {
				return fmt.Errorf("reading: %w", err)
			}
			if _, _, err := w.client.Application.UpdateApplication(w.ctx, id, read); err != nil {
				return fmt.Errorf("writing back: %w", err)
			}
			if a.name == "bookmark" {
				w.bookmark = id
				return nil
			}
			if _, err := w.client.Application.DeactivateApplication(w.ctx, id); err != nil {
				return fmt.Errorf("deactivating: %w", err)
			}
			if _, err := w.client.Application.ActivateApplication(w.ctx, id); err != nil {
				return fmt.Errorf("activating: %w", err)
			}
			if _, err := w.client.Application.DeactivateApplication(w.ctx, id); err != nil {
				return fmt.Errorf("deactivating: %w", err)
			}
			if _, err := w.client.Application.DeleteApplication(w.ctx, id); err != nil {
				return fmt.Errorf("deleting: %w", err)
			}
			return nil
		})
	}
	w.Step("list applications page by page", func() error {
		apps, res, err := w.client.Application.ListApplications(w.ctx, query.NewQueryParams(query.WithLimit(1)))
		if err != nil {
			return err
		}
		n := len(apps)
		for res.HasNextPage() {
			var more []*okta.Application
			if res, err = res.Next(w.ctx, &more); err != nil {
				return err
			}
			n += len(more)
		}
		return walk.Same("applications", true, n > 1)
	})
	w.Step("filter applications", func() error {
		apps, _, err := w.client.Application.ListApplications(w.ctx, query.NewQueryParams(query.WithFilter(`name eq "bookmark"`)))
		if err != nil {
			return err
		}
		found, _, err := w.client.Application.ListApplications(w.ctx, query.NewQueryParams(query.WithQ("Bookmark of")))
		if err != nil {
			return err
		}
		return walk.All(walk.Same("by filter", 1, len(apps)), walk.Same("by q", 1, len(found)))
	})
	w.Step("read and create keys of an application", func() error {
		signed := okta.NewSamlApplication() // the library decodes the response into this value
		signed.Label, signed.Visibility, signed.Settings = "SAML with keys of v2", saml.Visibility, saml.Settings
		created, _, err := w.client.Application.CreateApplication(w.ctx, signed, nil)
		if err != nil {
			return err
		}
		id := idOf(created)
		key, _, err := w.client.Application.GenerateApplicationKey(w.ctx, id, query.NewQueryParams(query.WithValidityYears(3)))
		if err != nil {
			return fmt.Errorf("creating: %w", err)
		}
		keys, _, err := w.client.Application.ListApplicationKeys(w.ctx, id)
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		one, _, err := w.client.Application.GetApplicationKey(w.ctx, id, key.Kid)
		if err != nil {
			return fmt.Errorf("reading: %w", err)
		}
		return walk.All(walk.Same("keys", 2, len(keys)), walk.Same("kid", key.Kid, one.Kid), walk.Same("there is a certificate", 1, len(one.X5c)))
	})
}

func (w *work) assignments() {
	w.Step("assign a user to an application", func() error {
		a, _, err := w.client.Application.AssignUserToApplication(w.ctx, w.bookmark, okta.AppUser{Id: w.ben.Id, Scope: "USER"})
		if err != nil {
			return err
		}
		return walk.All(walk.Same("id", w.ben.Id, a.Id), walk.Same("scope", "USER", a.Scope))
	})
	w.Step("read, update and list the users of an application", func() error {
		a, _, err := w.client.Application.GetApplicationUser(w.ctx, w.bookmark, w.ben.Id, query.NewQueryParams(query.WithExpand("user")))
		if err != nil {
			return err
		}
		if _, _, err := w.client.Application.UpdateApplicationUser(w.ctx, w.bookmark, w.ben.Id, *a); err != nil {
			return fmt.Errorf("updating: %w", err)
		}
		all, _, err := w.client.Application.ListApplicationUsers(w.ctx, w.bookmark, nil)
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		return walk.Same("users", 1, len(all))
	})
	w.Step("assign a group without a body, and with a priority", func() error {
		if _, _, err := w.client.Application.CreateApplicationGroupAssignment(w.ctx, w.bookmark, w.group.Id,
			okta.ApplicationGroupAssignment{}); err != nil {
			return err
		}
		a, _, err := w.client.Application.CreateApplicationGroupAssignment(w.ctx, w.bookmark, w.group.Id,
			okta.ApplicationGroupAssignment{PriorityPtr: okta.Int64Ptr(0)})
		if err != nil {
			return err
		}
		return walk.Same("id", w.group.Id, a.Id)
	})
	w.Step("read and list the groups of an application", func() error {
		if _, _, err := w.client.Application.GetApplicationGroupAssignment(w.ctx, w.bookmark, w.group.Id, nil); err != nil {
			return err
		}
		all, _, err := w.client.Application.ListApplicationGroupAssignments(w.ctx, w.bookmark, nil)
		if err != nil {
			return err
		}
		apps, _, err := w.client.Group.ListAssignedApplicationsForGroup(w.ctx, w.group.Id, nil)
		if err != nil {
			return err
		}
		return walk.All(walk.Same("groups", 1, len(all)), walk.Same("applications", 1, len(apps)))
	})
	w.Step("a member of the group has the application", func() error {
		a, _, err := w.client.Application.GetApplicationUser(w.ctx, w.bookmark, w.ada.Id, nil)
		if err != nil {
			return err
		}
		return walk.Same("scope", "GROUP", a.Scope)
	})
	w.Step("the links of a user", func() error {
		links, _, err := w.client.User.ListAppLinks(w.ctx, w.ada.Id)
		if err != nil {
			return err
		}
		return walk.Same("links", 1, len(links))
	})
	w.Step("remove the assignments", func() error {
		if _, err := w.client.Application.DeleteApplicationUser(w.ctx, w.bookmark, w.ben.Id, nil); err != nil {
			return err
		}
		_, err := w.client.Application.DeleteApplicationGroupAssignment(w.ctx, w.bookmark, w.group.Id)
		return err
	})
	w.Step("read and change the schema of an application", func() error {
		schema, _, err := w.client.UserSchema.GetApplicationUserSchema(w.ctx, w.bookmark)
		if err != nil {
			return err
		}
		schema, _, err = w.client.UserSchema.UpdateApplicationUserProfile(w.ctx, w.bookmark,
			okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: &okta.UserSchemaPublic{
				Id: "#custom", Type: "object", Properties: map[string]*okta.UserSchemaAttribute{"shoeV2": {Title: "Shoe", Type: "string"}},
			}}})
		if err != nil {
			return err
		}
		return walk.Same("the attribute is there", true, schema.Definitions.Custom.Properties["shoeV2"] != nil)
	})
}

func (w *work) mappings() {
	w.Step("list, read and change a profile mapping", func() error {
		all, _, err := w.client.ProfileMapping.ListProfileMappings(w.ctx, query.NewQueryParams(query.WithSourceId(w.bookmark)))
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("no mapping of %s", w.bookmark)
		}
		one, _, err := w.client.ProfileMapping.GetProfileMapping(w.ctx, all[0].Id)
		if err != nil {
			return err
		}
		_, _, err = w.client.ProfileMapping.UpdateProfileMapping(w.ctx, one.Id,
			okta.ProfileMapping{Properties: map[string]*okta.ProfileMappingProperty{
				"nickName": {Expression: "appuser.userName", PushStatus: "PUSH"},
			}})
		return err
	})
}

func (w *work) provisioning() {
	w.Step("read the connection and the features of an application", func() error {
		apps, _, err := w.client.Application.ListApplications(w.ctx, query.NewQueryParams(query.WithLimit(200)))
		if err != nil {
			return err
		}
		for _, app := range apps {
			a, ok := app.(*okta.Application)
			if !ok || len(a.Features) == 0 {
				continue
			}
			c, _, err := w.client.Application.GetDefaultProvisioningConnectionForApplication(w.ctx, a.Id)
			if err != nil {
				return fmt.Errorf("connection of %s: %w", a.Label, err)
			}
			features, _, err := w.client.Application.ListFeaturesForApplication(w.ctx, a.Id)
			if err != nil {
				return fmt.Errorf("features of %s: %w", a.Label, err)
			}
			feature, _, err := w.client.Application.GetFeatureForApplication(w.ctx, a.Id, "USER_PROVISIONING")
			if err != nil {
				return err
			}
			if _, _, err := w.client.Application.UpdateFeatureForApplication(w.ctx, a.Id, "USER_PROVISIONING", *feature.Capabilities); err != nil {
				return fmt.Errorf("writing the feature back: %w", err)
			}
			return walk.All(walk.Same("connection", "ENABLED", c.Status), walk.Same("there are features", true, len(features) > 0))
		}
		return fmt.Errorf("none of %d applications has features", len(apps))
	})
}
