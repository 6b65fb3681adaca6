package main

import (
	"fmt"

	"github.com/okta/okta-sdk-golang/v5/okta"

	"github.com/scimwright/scimwright/cmd/internal/sandbox/clients/go/walk"
)

func (w *work) applications() {
	api := w.client.ApplicationAPI
	head := func(mode, label string) okta.Application { return okta.Application{SignOnMode: mode, Label: label} }
	type app = okta.ListApplications200ResponseInner
	for _, a := range []struct {
		name string
		app  app
		id   func(*app) string
	}{
		{"bookmark", app{BookmarkApplication: &okta.BookmarkApplication{
			Application: head("BOOKMARK", "Bookmark of v5"), Name: "bookmark",
			Settings: okta.BookmarkApplicationSettings{App: &okta.BookmarkApplicationSettingsApplication{
				RequestIntegration: new(false), Url: new("https://example.com/bookmark.htm"),
			}},
		}}, func(a *app) string { return a.BookmarkApplication.GetId() }},
		{"basic", app{BasicAuthApplication: &okta.BasicAuthApplication{
			Application: head("BASIC_AUTH", "Basic of v5"), Name: "template_basic_auth",
			Settings: okta.BasicApplicationSettings{App: &okta.BasicApplicationSettingsApplication{
				AuthURL: new("https://example.com/auth.html"), Url: new("https://example.com/login.html"),
			}},
		}}, func(a *app) string { return a.BasicAuthApplication.GetId() }},
		{"SWA", app{BrowserPluginApplication: &okta.BrowserPluginApplication{
			Application: head("BROWSER_PLUGIN", "SWA of v5"), Name: "template_swa",
			Settings: okta.SwaApplicationSettings{App: &okta.SwaApplicationSettingsApplication{
				ButtonField: new("btn-login"), PasswordField: new("txtbox-password"), UsernameField: new("txtbox-username"),
				Url: new("https://example.com/login.html"),
			}},
		}}, func(a *app) string { return a.BrowserPluginApplication.GetId() }},
		{"password store", app{SecurePasswordStoreApplication: &okta.SecurePasswordStoreApplication{
			Application: head("SECURE_PASSWORD_STORE", "Store of v5"), Name: "template_sps",
			Settings: okta.SecurePasswordStoreApplicationSettings{App: &okta.SecurePasswordStoreApplicationSettingsApplication{
				Url: new("https://example.com/login.html"), UsernameField: new("#user"), PasswordField: new("#pw"),
			}},
		}}, func(a *app) string { return a.SecurePasswordStoreApplication.GetId() }},
		{"auto login", app{AutoLoginApplication: &okta.AutoLoginApplication{
			Application: head("AUTO_LOGIN", "Auto of v5"),
			Settings: &okta.AutoLoginApplicationSettings{SignOn: &okta.AutoLoginApplicationSettingsSignOn{
				LoginUrl: new("https://example.com/login"), RedirectUrl: new("https://example.com/home"),
			}},
		}}, func(a *app) string { return a.AutoLoginApplication.GetId() }},
		{"SAML", app{SamlApplication: &okta.SamlApplication{
			Application: head("SAML_2_0", "SAML of v5"),
			Settings: &okta.SamlApplicationSettings{SignOn: &okta.SamlApplicationSettingsSignOn{
				SsoAcsUrl: new("https://example.com/acs"), Recipient: new("https://example.com/acs"), Destination: new("https://example.com/acs"),
				Audience:  new("urn:example:sp"),
				IdpIssuer: new("http://example.com/${org.externalKey}"), SubjectNameIdTemplate: new("${user.userName}"),
				SubjectNameIdFormat: new("urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"), ResponseSigned: new(true),
				AssertionSigned:    new(true),
				SignatureAlgorithm: new("RSA_SHA256"), DigestAlgorithm: new("SHA256"), HonorForceAuthn: new(true),
				AuthnContextClassRef: new("urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"),
			}},
		}}, func(a *app) string { return a.SamlApplication.GetId() }},
		{"OIDC", app{OpenIdConnectApplication: &okta.OpenIdConnectApplication{
			Application: head("OPENID_CONNECT", "OIDC of v5"), Name: "oidc_client",
			Credentials: okta.OAuthApplicationCredentials{OauthClient: &okta.ApplicationCredentialsOAuthClient{
				AutoKeyRotation: new(true), TokenEndpointAuthMethod: new("client_secret_post"),
			}},
			Settings: okta.OpenIdConnectApplicationSettings{OauthClient: &okta.OpenIdConnectApplicationSettingsClient{
				ApplicationType: new("web"), ClientUri: new("https://example.com"), RedirectUris: []string{"https://example.com/callback"},
				ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code", "refresh_token"},
			}},
		}}, func(a *app) string { return a.OpenIdConnectApplication.GetId() }},
	} {
		w.step("create, read and write back an application: "+a.name, func() error {
			created, _, err := api.CreateApplication(w.ctx).Application(a.app).Activate(true).Execute()
			if err != nil {
				return err
			}
			id := a.id(created)
			read, _, err := api.GetApplication(w.ctx, id).Execute()
			if err != nil {
				return fmt.Errorf("reading: %w", err)
			}
			if _, _, err := api.ReplaceApplication(w.ctx, id).Application(*read).Execute(); err != nil {
				return fmt.Errorf("writing back: %w", apiErr(err))
			}
			if a.name == "bookmark" {
				w.bookmark = id
				return nil
			}
			if _, err := api.DeactivateApplication(w.ctx, id).Execute(); err != nil {
				return fmt.Errorf("deactivating: %w", err)
			}
			if _, err := api.ActivateApplication(w.ctx, id).Execute(); err != nil {
				return fmt.Errorf("activating: %w", err)
			}
			if _, err := api.DeactivateApplication(w.ctx, id).Execute(); err != nil {
				return fmt.Errorf("deactivating: %w", err)
			}
			if _, err := api.DeleteApplication(w.ctx, id).Execute(); err != nil {
				return fmt.Errorf("deleting: %w", err)
			}
			return nil
		})
	}
	w.step("list applications page by page", func() error {
		apps, res, err := api.ListApplications(w.ctx).Limit(1).Execute()
		n := 0
		for err == nil {
			n += len(apps)
			if !res.HasNextPage() {
				return walk.Same("several pages", true, n > 1)
			}
			apps = nil
			res, err = res.Next(&apps)
		}
		return err
	})
	w.step("filter applications", func() error {
		apps, _, err := api.ListApplications(w.ctx).Filter(`name eq "bookmark"`).Execute()
		if err != nil {
			return err
		}
		found, _, err := api.ListApplications(w.ctx).Q("Bookmark of").Execute()
		if err != nil {
			return err
		}
		return walk.All(walk.Same("by filter", 1, len(apps)), walk.Same("by q", 1, len(found)))
	})
	w.step("read and create keys of an application", func() error {
		created, _, err := api.CreateApplication(w.ctx).Application(app{SamlApplication: &okta.SamlApplication{
			Application: head("SAML_2_0", "SAML with keys of v5"),
			Settings: &okta.SamlApplicationSettings{SignOn: &okta.SamlApplicationSettingsSignOn{
				SsoAcsUrl: new("https://example.com/acs"), Recipient: new("https://example.com/acs"), Destination: new("https://example.com/acs"),
				Audience:              new("urn:example:sp"),
				SubjectNameIdTemplate: new("${user.userName}"), SubjectNameIdFormat: new("urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"),
				ResponseSigned: new(true), AssertionSigned: new(true), SignatureAlgorithm: new("RSA_SHA256"), DigestAlgorithm: new("SHA256"),
				HonorForceAuthn: new(true), AuthnContextClassRef: new("urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"),
			}},
		}}).Execute()
		if err != nil {
			return err
		}
		id := created.SamlApplication.GetId()
		key, _, err := w.client.ApplicationCredentialsAPI.GenerateApplicationKey(w.ctx, id).ValidityYears(3).Execute()
		if err != nil {
			return fmt.Errorf("creating: %w", err)
		}
		keys, _, err := w.client.ApplicationCredentialsAPI.ListApplicationKeys(w.ctx, id).Execute()
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		return walk.All(walk.Same("there is a kid", true, key.GetKid() != ""), walk.Same("keys", 2, len(keys)))
	})
}

func (w *work) assignments() {
	users, groups := w.client.ApplicationUsersAPI, w.client.ApplicationGroupsAPI
	w.step("assign a user to an application", func() error {
		a, _, err := users.AssignUserToApplication(w.ctx, w.bookmark).AppUser(okta.AppUserAssignRequest{Id: w.ben, Scope: new("USER")}).Execute()
		if err != nil {
			return err
		}
		return walk.Same("id", w.ben, a.GetId())
	})
	w.step("read, update and list the users of an application", func() error {
		if _, _, err := users.GetApplicationUser(w.ctx, w.bookmark, w.ben).Expand("user").Execute(); err != nil {
			return err
		}
		a, _, err := users.UpdateApplicationUser(w.ctx, w.bookmark, w.ben).AppUser(okta.AppUserUpdateRequest{
			AppUserCredentialsRequestPayload: &okta.AppUserCredentialsRequestPayload{Credentials: &okta.AppUserCredentials{UserName: new("benny")}},
		}).Execute()
		if err != nil {
			return fmt.Errorf("updating: %w", err)
		}
		all, _, err := users.ListApplicationUsers(w.ctx, w.bookmark).Execute()
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		return walk.All(walk.Same("userName", "benny", a.Credentials.GetUserName()), walk.Same("users", 1, len(all)))
	})
	w.step("assign a group without a body, and with a priority", func() error {
		if _, _, err := groups.AssignGroupToApplication(w.ctx, w.bookmark, w.group).Execute(); err != nil {
			return err
		}
		a, _, err := groups.AssignGroupToApplication(w.ctx, w.bookmark,
			w.group).ApplicationGroupAssignment(okta.ApplicationGroupAssignment{Priority: new(int32(3))}).Execute()
		if err != nil {
			return err
		}
		return walk.Same("id", w.group, a.GetId())
	})
	w.step("read and list the groups of an application", func() error {
		if _, _, err := groups.GetApplicationGroupAssignment(w.ctx, w.bookmark, w.group).Execute(); err != nil {
			return err
		}
		all, _, err := groups.ListApplicationGroupAssignments(w.ctx, w.bookmark).Execute()
		if err != nil {
			return err
		}
		apps, _, err := w.client.GroupAPI.ListAssignedApplicationsForGroup(w.ctx, w.group).Execute()
		if err != nil {
			return err
		}
		return walk.All(walk.Same("groups", 1, len(all)), walk.Same("applications", 1, len(apps)))
	})
	w.step("a member of the group has the application", func() error {
		a, _, err := users.GetApplicationUser(w.ctx, w.bookmark, w.ada).Execute()
		if err != nil {
			return err
		}
		return walk.Same("scope", "GROUP", a.GetScope())
	})
	w.step("remove the assignments", func() error {
		if _, err := users.UnassignUserFromApplication(w.ctx, w.bookmark, w.ben).SendEmail(false).Execute(); err != nil {
			return err
		}
		_, err := groups.UnassignApplicationFromGroup(w.ctx, w.bookmark, w.group).Execute()
		return err
	})
	w.step("read and change the schema of an application", func() error {
		if _, _, err := w.client.SchemaAPI.GetApplicationUserSchema(w.ctx, w.bookmark).Execute(); err != nil {
			return err
		}
		schema, _, err := w.client.SchemaAPI.UpdateApplicationUserProfile(w.ctx,
			w.bookmark).Body(okta.UserSchema{Definitions: &okta.UserSchemaDefinitions{Custom: &okta.UserSchemaPublic{
			Id: new("#custom"), Type: new("object"),
			Properties: &map[string]okta.UserSchemaAttribute{"shoeV5": {Title: new("Shoe"), Type: new("string")}},
		}}}).Execute()
		if err != nil {
			return err
		}
		_, there := (*schema.Definitions.Custom.Properties)["shoeV5"]
		return walk.Same("the attribute is there", true, there)
	})
}

func (w *work) mappings() {
	w.step("list, read and change a profile mapping", func() error {
		api := w.client.ProfileMappingAPI
		all, _, err := api.ListProfileMappings(w.ctx).SourceId(w.bookmark).Execute()
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return fmt.Errorf("no mapping of %s", w.bookmark)
		}
		if _, _, err := api.GetProfileMapping(w.ctx, all[0].GetId()).Execute(); err != nil {
			return err
		}
		_, _, err = api.UpdateProfileMapping(w.ctx,
			all[0].GetId()).ProfileMapping(okta.ProfileMappingRequest{Properties: map[string]okta.ProfileMappingProperty{
			"nickName": {Expression: new("appuser.userName"), PushStatus: new("PUSH")},
		}}).Execute()
		return err
	})
}

func (w *work) provisioning() {
	w.step("read the connection and the features of an application", func() error {
		apps, _, err := w.client.ApplicationAPI.ListApplications(w.ctx).Limit(200).Execute()
		if err != nil {
			return err
		}
		for _, a := range apps {
			if a.SamlApplication == nil || len(a.SamlApplication.Features) == 0 {
				continue
			}
			id := a.SamlApplication.GetId()
			c, _, err := w.client.ApplicationConnectionsAPI.GetDefaultProvisioningConnectionForApplication(w.ctx, id).Execute()
			if err != nil {
				return fmt.Errorf("connection: %w", err)
			}
			features, _, err := w.client.ApplicationFeaturesAPI.ListFeaturesForApplication(w.ctx, id).Execute()
			if err != nil {
				return fmt.Errorf("features: %w", err)
			}
			for _, f := range features {
				if p := f.UserProvisioningApplicationFeature; p != nil {
					if _, _, err := w.client.ApplicationFeaturesAPI.UpdateFeatureForApplication(w.ctx, id,
						"USER_PROVISIONING").UpdateFeatureForApplicationRequest(
						okta.UpdateFeatureForApplicationRequest{CapabilitiesObject: p.Capabilities}).Execute(); err != nil {
						return fmt.Errorf("writing the feature back: %w", err)
					}
					return walk.Same("connection", "ENABLED", c.GetStatus())
				}
			}
			return fmt.Errorf("none of %d features is for user provisioning", len(features))
		}
		return fmt.Errorf("none of %d applications has features", len(apps))
	})
}
