package statements

import "slices"

// documentC is the third of the management documents.
var documentC = Document{ID: "C", Title: "Applications and SCIM requests",
	Sections: slices.Concat(documentCApps, documentCSCIM)}

var documentCApps = []Section{
	{"Conventions", []Statement{
		{"C-api-01", "`Authorization: SSWS` or an OAuth 2.0 access token with its scopes authenticates the operations of this document."},
		{"C-api-02", "An error body has `errorCode`, `errorSummary`, `errorLink`, `errorId` and `errorCauses`."},
		{"C-api-03", "A paged list returns a `Link` header with a `next` link; a client follows the URL unchanged and does not interpret it."},
		{"C-api-04", "Paths of the management operations start with `/api/v1`."},
	}},
	{"Application: fields", []Statement{
		{"C-apps-01", "The service assigns the `id`; clients cannot set it."},
		{"C-apps-02", "`name` is the name of a template or of an app of the catalog; another name is rejected."},
		{"C-apps-03", "Create requires `name`, except for custom apps, whose name the service derives."},
		{"C-apps-04", "`label` is the display name."},
		{"C-apps-05", "`status` is `ACTIVE` or `INACTIVE`."},
		{"C-apps-06", "`created` and `lastUpdated` are timestamps."},
		{"C-apps-07", "`accessibility` has `selfService`, `errorRedirectUrl` and `loginRedirectUrl`; the URLs are nullable."},
		{"C-apps-08", "`visibility` has `autoSubmitToolbar`, `hide.iOS`, `hide.web` and `appLinks`, a map of link names to booleans."},
		{"C-apps-09", "`features` is an array of strings, such as `PUSH_NEW_USERS` and `PUSH_PROFILE_UPDATES`."},
		{"C-apps-10", "`signOnMode` accepts `BOOKMARK`, `BASIC_AUTH`, `SAML_2_0`, `BROWSER_PLUGIN` and `SECURE_PASSWORD_STORE`."},
		{"C-apps-11", "`credentials.scheme` is a scheme such as `EDIT_USERNAME_AND_PASSWORD`."},
		{"C-apps-12", "`credentials.userNameTemplate` has `template` and `type`, `BUILT_IN` by default."},
		{"C-apps-13", "`credentials.signing` has `kid`."},
		{"C-apps-14", "`settings.notifications.vpn` has `network.connection`, `message` and `helpUrl`."},
		{"C-apps-15", "`_links.logo` is an array of `href`, `name` and `type`."},
		{"C-apps-16", "`_links` has `users`, `groups` and `self`."},
		{"C-apps-17", "`_links.deactivate` of an active application allows POST."},
		{"C-apps-18", "`_links.metadata` of a SAML application has the type `application/xml` and leads to its metadata."},
		{"C-apps-19", "`_links` has `appLinks` and `help`."},
	}},
	{"Application: settings", []Statement{
		{"C-settings-01", "`bookmark` has `requestIntegration` (boolean) and `url`."},
		{"C-settings-02", "`template_basic_auth` has `authURL` and `url`."},
		{"C-settings-03", "`svc_org2org` has `acsUrl`, `audRestriction` and `baseUrl`, each nullable."},
		{"C-settings-04", "`svc_org2org` is available, since the organization is not a developer edition."},
		{"C-settings-05", "A SAML app of the catalog has its own settings, such as `url` and `orgName`."},
		{"C-settings-06", "Each element of `attributeStatements` of a SAML app has the `type` `EXPRESSION` and the members `name`, " +
			"`namespace` and `values`."},
		{"C-settings-07", "A SAML app has `configuredAttributeStatements`, `destinationOverride` and `honorForceAuthn`."},
		{"C-settings-08", "`template_swa` has buttonField, loginUrlRegex, passwordField, url and usernameField."},
		{"C-settings-09", "`template_swa3field` has buttonSelector, extraFieldSelector, extraFieldValue, loginUrlRegex, passwordSelector, " +
			"targetURL and usernameSelector."},
		{"C-settings-10", "`template_sps` has url, usernameField, passwordField and three optional fields with values, each nullable."},
		{"C-settings-11", "Settings that are URLs are validated."},
		{"C-settings-12", "`signOn` of SAML has defaultRelayState, ssoAcsUrl, idpIssuer, audience, recipient and destination."},
		{"C-settings-13", "`signOn` of SAML has subjectNameIdTemplate, subjectNameIdFormat, responseSigned and assertionSigned."},
		{"C-settings-14", "`signOn` of SAML has signatureAlgorithm, digestAlgorithm, honorForceAuthn and authnContextClassRef."},
		{"C-settings-15", "`signOn.slo` has enabled, spIssuer and logoutUrl."},
		{"C-settings-16", "`signOn.participateSlo` has enabled, logoutRequestUrl, sessionIndexRequired and bindingType."},
		{"C-settings-17", "`signOn.spCertificate.x5c` is an array of base64 certificates."},
		{"C-settings-18", "`signOn` of SAML has requestCompressed, allowMultipleAcsEndpoints, acsEndpoints and attributeStatements."},
		{"C-settings-19", "`signOn.inlineHooks` is an array of `id` and `_links` of inline hooks."},
		{"C-settings-20", "`signOn` of SAML has ssoAcsUrlOverride, audienceOverride, recipientOverride and destinationOverride."},
	}},
	{"Application: transitions and operations", []Statement{
		{"C-apps-20", "`POST /apps/<id>/lifecycle/activate` turns an inactive application `ACTIVE` and returns `{}`."},
		{"C-apps-21", "`POST /apps/<id>/lifecycle/deactivate` turns an active application `INACTIVE` and returns `{}`."},
		{"C-apps-22", "`POST /apps` creates an application and returns it; the parameter `activate` determines `status` and is true if absent."},
		{"C-apps-23", "`GET /apps/<id>` returns the application."},
		{"C-apps-24", "`GET /apps` returns an array of applications."},
		{"C-apps-25", "`after` of the list of applications returns the page after that cursor."},
		{"C-apps-26", "`limit` of the list is 20 by default and at most 200."},
		{"C-apps-27", "`q` of the list finds applications whose name or label starts with the value of `q`."},
		{"C-apps-28", "`expand=user/<uid>` embeds the assignment of the user."},
		{"C-apps-29", "`expand` is accepted only with the filter `user.id eq`."},
		{"C-apps-30", "The filter `status eq` selects by status."},
		{"C-apps-31", "The filter `user.id eq` selects the applications of a user."},
		{"C-apps-32", "The filter `group.id eq` selects the applications of a group."},
		{"C-apps-33", "The filter `credentials.signing.kid eq` selects by signing key."},
		{"C-apps-34", "The filter `name eq` selects by name."},
		{"C-apps-35", "Filters with another operator, or of several expressions, are rejected."},
	}},
	{"Application user: fields", []Statement{
		{"C-assignments-01", "`id` is the id of the user and required on assignment."},
		{"C-assignments-02", "`externalId` is the id of the account in the target, and null until the service has received the id."},
		{"C-assignments-03", "`scope` is `USER` for an assignment of the user."},
		{"C-assignments-04", "`status` is `ACTIVE` in an app without provisioning, and `PROVISIONED` after the user was provisioned."},
		{"C-assignments-05", "statusChanged, created, lastUpdated, passwordChanged and lastSync are timestamps or null."},
		{"C-assignments-06", "`syncState` is `DISABLED` in an app without provisioning, and `SYNCHRONIZED` after the user was provisioned."},
		{"C-assignments-07", "`credentials.userName` is the login in the target."},
		{"C-assignments-08", "`credentials.password` is write-only and returned as `{}`."},
		{"C-assignments-09", "`profile` has the attributes of the app, `{}` without any."},
		{"C-assignments-10", "`_links` has `app` and `user`."},
	}},
	{"Application user: operations", []Statement{
		{"C-assignments-11", "`POST /apps/<id>/users` assigns a user and returns the application user."},
		{"C-assignments-12", "In an app with a sign-on mode without credentials, `id` alone is sufficient to assign a user."},
		{"C-assignments-13", "The service applies the profile mappings first, and then the properties in the body."},
		{"C-assignments-14", "`GET /apps/<id>/users/<userId>` returns the application user."},
		{"C-assignments-15", "`GET /apps/<id>/users` returns an array of application users."},
		{"C-assignments-16", "`limit` of the list of application users is 50 by default and at most 500; `after` returns the page after that " +
			"cursor."},
		{"C-assignments-17", "`q` finds application users whose userName, firstName, lastName or email starts with the value of `q`."},
		{"C-assignments-18", "In the list of users of an OIDC application, `q` finds users whose userName or email starts with it, " +
			"and no others."},
		{"C-assignments-19", "`POST /apps/<id>/users/<userId>` updates credentials or profile and returns the application user."},
		{"C-assignments-20", "`DELETE /apps/<id>/users/<userId>` returns `{}`; the profile in the app is lost."},
		{"C-assignments-21", "`sendEmail` of DELETE is false if absent."},
		{"C-assignments-22", "Removal of an assignment deprovisions the user in the target, if the app is configured to deprovision users."},
		{"C-assignments-23", "A value that differs from the mapping of its attribute is rejected with 403 `E0000075` on an app with " +
			"`PUSH_NEW_USERS` or `PUSH_PROFILE_UPDATES`."},
		{"C-assignments-24", "Credentials of a user are rejected with 400 `E0000041` on an app whose scheme does not accept credentials of " +
			"users."},
	}},
	{"Application group", []Statement{
		{"C-assignments-25", "An application group has `id`, `lastUpdated` and `priority` (integer)."},
		{"C-assignments-26", "`PUT /apps/<id>/groups/<groupId>` assigns a group, with or without a body, and returns the application group."},
		{"C-assignments-27", "`GET /apps/<id>/groups/<groupId>` returns the application group."},
		{"C-assignments-28", "`GET /apps/<id>/groups` returns an array; `limit` is 20 by default and at most 200; `after` returns the page " +
			"after that cursor."},
	}},
}
