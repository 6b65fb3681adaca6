package archtest

// Public lists the packages that other modules import. Their exported declarations use no types of other packages of this module, so that
// other modules can use all of them.
var Public = []string{
	"scim", "scim/filter", "scim/lenient", "scim/patch", "scim/schema", "scim/wirelog",
	"engine", "engine/control", "engine/control/client", "engine/desired", "engine/desired/desiredapi", "engine/enginetest",
	"engine/jobs",
	"engine/jobs/jobstest", "engine/jobs/riverjobs", "engine/mapping", "engine/metrics", "engine/provision", "engine/pull",
	"engine/sqlstore", "engine/store", "engine/storetest", "engine/webhooks", "engine/webhooks/webhooksapi",
	"scimserver", "scimserver/memstore", "scimserver/observe", "scimserver/quirks", "scimserver/sqlstore", "scimserver/storetest",
	"scimserver/tenants",
	"conformance", "conformance/causes", "conformance/checks", "conformance/clientgrade", "conformance/conformancetest", "conformance/lint",
	"conformance/matrix", "conformance/observed", "conformance/profiles", "conformance/report", "conformance/requirements",
	"conformance/waivers",
	"mgmtapi", "mgmtapi/mgmtapitest", "fixtures",
}
