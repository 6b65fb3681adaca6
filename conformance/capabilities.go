package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Capabilities contains the responses of the target's discovery endpoints, and the results of one query each for users and groups. Every
// field may be empty, because checks also run if discovery fails.
type Capabilities struct {
	// ServiceProviderConfig is the body of GET /ServiceProviderConfig. It is nil if the target returned none.
	ServiceProviderConfig *scim.Object
	// ResourceTypes and Schemas are the items of the two lists.
	ResourceTypes, Schemas []*scim.Object
	// Users and Groups report whether the target serves these resources: it lists the resource type, or its response to a query for them has a
	// status other than 404 and 501. The checks test whether the responses are correct.
	Users, Groups bool
	// Steadiness is what the run has measured before the checks. Its numbers of repeats and of unsteady findings are 0, because both occur
	// only later.
	Steadiness Steadiness
	// Requests is the number of requests that discovery took.
	Requests int

	empty bool // the target has no users
}

// Supports reports whether the ServiceProviderConfig claims the feature: patch, bulk, filter, changePassword, sort or etag. Known is false
// if the ServiceProviderConfig does not mention it.
func (c *Capabilities) Supports(feature string) (supported, known bool) {
	return c.ServiceProviderConfig.Complex(feature).Bool("supported")
}

// ResourceType returns the listed resource type with the given base schema, or nil.
func (c *Capabilities) ResourceType(schema string) *scim.Object {
	for _, rt := range c.ResourceTypes {
		if scim.EqualName(rt.Text("schema"), schema) {
			return rt
		}
	}
	return nil
}

// Schema returns the listed schema with the given URN, or nil.
func (c *Capabilities) Schema(urn string) *scim.Object {
	for _, s := range c.Schemas {
		if scim.EqualName(s.Text("id"), urn) {
			return s
		}
	}
	return nil
}

// Extended reports whether users of the target have the enterprise extension.
func (c *Capabilities) Extended() bool {
	for _, e := range c.ResourceType(scim.UserSchema).Array("schemaExtensions") {
		if o, ok := e.(*scim.Object); ok && scim.EqualName(o.Text("schema"), scim.EnterpriseUserSchema) {
			return true
		}
	}
	return false
}

// missing returns why the need n is not met, "" if it is met.
func (s *session) missing(n Need) string {
	unsupported := func(feature string, assume bool) string {
		if supported, known := s.caps.Supports(feature); known && !supported {
			return "the ServiceProviderConfig says that " + feature + " is not supported"
		} else if !known && !assume {
			return "the ServiceProviderConfig does not say that " + feature + " is supported"
		}
		return ""
	}
	switch n {
	case NeedWrite:
		if s.opts.ReadOnly {
			return "the run is read-only"
		}
		return s.rights.denied
	case NeedCredentials:
		if !s.wire.target.hasCredentials() {
			return "no token and no Authorization header is configured"
		}
	case NeedUser:
		if !s.caps.Users {
			return s.notServed("users")
		}
	case NeedGroup:
		if !s.caps.Groups {
			return s.notServed("groups")
		}
	case NeedEnterprise:
		if !s.caps.Extended() {
			return "the User resource type does not list the enterprise extension"
		}
	case NeedFilter:
		return unsupported("filter", true)
	case NeedPatch:
		return unsupported("patch", true)
	case NeedSort:
		return unsupported("sort", false)
	case NeedIndex:
		if index, known := s.caps.ServiceProviderConfig.Complex("pagination").Bool("index"); known && !index {
			return "the ServiceProviderConfig says that pagination by startIndex is not supported"
		}
	case NeedCursor:
		if cursor, _ := s.caps.ServiceProviderConfig.Complex("pagination").Bool("cursor"); !cursor {
			return "the ServiceProviderConfig does not say that pagination by cursor is supported"
		}
	case NeedBulk:
		return unsupported("bulk", false)
	case NeedETag:
		return unsupported("etag", false)
	case NeedToken:
		if s.wire.target.Token == "" && s.wire.target.Authorize == nil {
			return "the configured credentials are not a bearer token"
		}
	case NeedRemote:
		if isLoopback(s.wire.base.Hostname()) {
			return "the target runs on this machine: requests do not cross a network"
		}
	}
	return ""
}

func (s *session) notServed(what string) string {
	if len(s.opts.ResourceTypes) > 0 {
		return "the run is limited to other resource types, or the target does not serve " + what
	}
	return "the target does not serve " + what
}

// limitTypes removes the resource types that Options.ResourceTypes does not contain. It returns a problem if no type remains.
func (s *session) limitTypes(caps *Capabilities) (problem string) {
	names := s.opts.ResourceTypes
	if len(names) == 0 {
		return ""
	}
	meant := func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	caps.ResourceTypes = slices.DeleteFunc(caps.ResourceTypes, func(rt *scim.Object) bool { return !meant(rt.Text("name")) })
	caps.Users = caps.Users && meant("User")
	caps.Groups = caps.Groups && meant("Group")
	if len(caps.ResourceTypes) == 0 && !caps.Users && !caps.Groups {
		return fmt.Sprintf("the target serves none of the resource types that the run is limited to (%s)", strings.Join(names, ", "))
	}
	return ""
}

// discover queries the discovery endpoints of the target. It returns a problem if the target cannot be tested.
func (s *session) discover(ctx context.Context, checks []Check) (problem string) {
	caps := &Capabilities{}
	s.caps = caps
	before := s.wire.requests
	defer func() { caps.Requests = s.wire.requests - before }()

	resources := false // at least one collection returned a list
	probes := []struct {
		request Request
		keep    func(res *Response)
	}{
		{Request{Method: "GET", Path: "/ServiceProviderConfig"}, func(res *Response) { caps.ServiceProviderConfig = res.Object() }},
		{Request{Method: "GET", Path: "/ResourceTypes"}, func(res *Response) { caps.ResourceTypes = res.Resources() }},
		{Request{Method: "GET", Path: "/Schemas"}, func(res *Response) { caps.Schemas = res.Resources() }},
		{Request{Method: "GET", Path: "/Users", Query: pairs([]string{"startIndex", "1", "count", "1"})},
			func(res *Response) { resources, caps.empty = true, res.Total() == 0 }},
		{Request{Method: "GET", Path: "/Groups", Query: pairs([]string{"startIndex", "1", "count", "1"})}, func(*Response) { resources = true }},
	}
	var usable int
	var refused *Response
	var first string
	for _, p := range probes {
		res, err := s.wire.call(ctx, p.request, false)
		if call, _ := errors.AsType[*callError](err); err != nil && call.confirmed {
			continue // not a finding here: a check of the same endpoint reports the missing response
		} else if err != nil {
			// A target that does not respond to the first request will not respond to the next ones either.
			return unreachable(err)
		}
		if res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden {
			refused = res
		}
		absent := res.Status == http.StatusNotFound || res.Status == http.StatusNotImplemented
		switch p.request.Path {
		case "/Users":
			caps.Users = !absent || caps.ResourceType(scim.UserSchema) != nil
		case "/Groups":
			caps.Groups = !absent || caps.ResourceType(scim.GroupSchema) != nil
		}
		switch complaint := whyUnusable(res); {
		case complaint == "":
			usable++
			p.keep(res)
		case first == "":
			first = complaint
		}
	}
	if problem := s.limitTypes(caps); problem != "" {
		return problem
	}
	wantsUsers := false
	for _, c := range checks {
		for _, n := range c.Needs {
			wantsUsers = wantsUsers || n == NeedUser || n == NeedGroup
		}
	}
	switch {
	case refused != nil && (usable == 0 || wantsUsers && !resources):
		if s.wire.target.hasCredentials() {
			return fmt.Sprintf("the target rejects the credentials: %s returned %s; check the token and its permissions", refused.Name,
				statusText(refused.Status))
		}
		return fmt.Sprintf("the target requires credentials: %s returned %s; pass a token", refused.Name, statusText(refused.Status))
	case usable == 0:
		return first
	}
	return ""
}

// unreachable returns why the first request got no response, and what to do.
func unreachable(err error) string {
	call, _ := errors.AsType[*callError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case call != nil && call.budget:
		return "discovery did not finish: " + err.Error() + "; allow more requests"
	case errors.Is(err, errTooLarge):
		return "the target cannot be tested: " + err.Error() + "; a SCIM endpoint does not send such a response"
	case errors.Is(err, errNoCredentials):
		return "the credentials cannot be obtained: " + err.Error()
	case unknown:
		return "the target's certificate is not trusted: " + err.Error() + "; pass --ca-file with the certificate of its authority"
	case certificate:
		return "the target's certificate is not valid: " + err.Error()
	}
	return "the target cannot be reached: " + err.Error() + "; check that it runs and that the base URL is right"
}

// movedTo returns the base URL to which a request below the base URL is redirected. It returns "" if the new location does not end in the
// path.
func movedTo(location, path string) string {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" {
		return ""
	}
	base, found := strings.CutSuffix(strings.TrimRight(u.Path, "/"), path)
	if !found {
		return ""
	}
	return u.Scheme + "://" + u.Host + base
}

// whyUnusable returns why a response is not the response of a usable SCIM service provider, "" if it is.
func whyUnusable(res *Response) string {
	object := res.Object()
	html := strings.Contains(res.MediaType(), "html") || bytes.HasPrefix(bytes.TrimSpace(res.Body), []byte("<"))
	switch {
	case res.Status >= 300 && res.Status < 400:
		location, where := res.Header.Get("Location"), "of the SCIM endpoint"
		if _, path, _ := strings.Cut(res.Name, " "); movedTo(location, path) != "" {
			where = movedTo(location, path)
		}
		return fmt.Sprintf("%s redirects to %s: run again with the base URL %s", res.Name, show(location), where)
	case html:
		return fmt.Sprintf("%s returns %s with HTML: this is a web site, not a SCIM endpoint; the base URL usually ends in /scim/v2", res.Name,
			statusText(res.Status))
	case res.Status == http.StatusNotFound:
		return fmt.Sprintf(
			"%s and all other requests return %s: no SCIM endpoint below this base URL; it usually ends in /scim/v2", res.Name,
			statusText(res.Status))
	case res.Status == http.StatusTooManyRequests:
		return fmt.Sprintf("%s returns %s: the target limits the rate of requests; try again later", res.Name, statusText(res.Status))
	case res.Status >= 500:
		return fmt.Sprintf("%s returns %s: the target is broken or not ready; check its log", res.Name, statusText(res.Status))
	case !res.OK():
		return fmt.Sprintf("%s returns %s: the target does not permit reading", res.Name, statusText(res.Status))
	case object == nil:
		_, err := res.decode()
		return fmt.Sprintf("%s returns %s without a JSON object (%v): this is not a SCIM endpoint, or a proxy changes its responses",
			res.Name, statusText(res.Status), err)
	case len(object.Array("schemas")) == 0 && len(res.Resources()) == 0 && res.Total() < 0:
		return fmt.Sprintf("%s returns JSON that is not SCIM: it has neither schemas nor Resources; check the base URL", res.Name)
	}
	return ""
}
