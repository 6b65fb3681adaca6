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

// Capabilities is what the target's discovery endpoints and two harmless queries told. Every field may be empty: checks run
// even when discovery does not work.
type Capabilities struct {
	// ServiceProviderConfig is the body of GET /ServiceProviderConfig; nil when there was none.
	ServiceProviderConfig *scim.Object
	// ResourceTypes and Schemas are the items of the two lists.
	ResourceTypes, Schemas []*scim.Object
	// Users and Groups tell whether the target serves these resources: it lists the type, or a query for them answers
	// something else than 404 and 501. Whether the answer is right is for the checks to say.
	Users, Groups bool
	// Requests is what finding this out took.
	Requests int

	empty bool // there are no users
}

// Supports tells whether the ServiceProviderConfig claims the feature: patch, bulk, filter, changePassword, sort or etag.
// Known is false when it does not say.
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

// Extended tells whether the target's users carry the enterprise extension.
func (c *Capabilities) Extended() bool {
	for _, e := range c.ResourceType(scim.UserSchema).Array("schemaExtensions") {
		if o, ok := e.(*scim.Object); ok && scim.EqualName(o.Text("schema"), scim.EnterpriseUserSchema) {
			return true
		}
	}
	return false
}

// missing returns why a need is not met, "" when it is.
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
			return "the ServiceProviderConfig says that pages by startIndex are not supported"
		}
	case NeedCursor:
		if cursor, _ := s.caps.ServiceProviderConfig.Complex("pagination").Bool("cursor"); !cursor {
			return "the ServiceProviderConfig does not say that pages by cursor are supported"
		}
	case NeedBulk:
		return unsupported("bulk", false)
	case NeedETag:
		return unsupported("etag", false)
	case NeedToken:
		if s.wire.target.Token == "" && s.wire.target.Authorize == nil {
			return "the configured credentials are no bearer token"
		}
	case NeedRemote:
		if isLoopback(s.wire.base.Hostname()) {
			return "the target is this machine: nothing crosses a network"
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

// narrow leaves the resource types that the run is limited to. It returns a sentence when none of them is there.
func (s *session) narrow(caps *Capabilities) (problem string) {
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

// discover asks what the target offers. It returns a sentence when nothing can be tested.
func (s *session) discover(ctx context.Context, checks []Check) (problem string) {
	caps := &Capabilities{}
	s.caps = caps
	before := s.wire.requests
	defer func() { caps.Requests = s.wire.requests - before }()

	resources := false // a collection answered with a list
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
		if err != nil {
			// A target that does not answer its first question will not answer the next ones either.
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
		switch complaint := judge(res); {
		case complaint == "":
			usable++
			p.keep(res)
		case first == "":
			first = complaint
		}
	}
	if problem := s.narrow(caps); problem != "" {
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
			return fmt.Sprintf("the target refuses the credentials: %s answered %s; check the token and what it may access", refused.Name,
				statusText(refused.Status))
		}
		return fmt.Sprintf("the target wants credentials: %s answered %s; pass a token", refused.Name, statusText(refused.Status))
	case usable == 0:
		return first
	}
	return ""
}

// unreachable says why the first question got no answer, and what to do.
func unreachable(err error) string {
	call, _ := errors.AsType[*callError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case call != nil && call.budget:
		return "the target could not be explored: " + err.Error() + "; allow more requests"
	case errors.Is(err, errTooLarge):
		return "the target cannot be tested: " + err.Error() + "; this is hardly the answer of a SCIM endpoint"
	case errors.Is(err, errNoCredentials):
		return "the credentials cannot be had: " + err.Error()
	case unknown:
		return "the target's certificate is not trusted: " + err.Error() + "; pass --ca-file with the certificate of its authority"
	case certificate:
		return "the target's certificate is not valid: " + err.Error()
	}
	return "the target cannot be reached: " + err.Error() + "; check that it runs and that the base URL is right"
}

// movedTo is the base URL of the address that a request below the base URL is redirected to, "" when it is none.
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

// judge returns a sentence when an answer is nothing that a SCIM service provider says, "" when it is usable.
func judge(res *Response) string {
	object := res.Object()
	html := strings.Contains(res.MediaType(), "html") || bytes.HasPrefix(bytes.TrimSpace(res.Body), []byte("<"))
	switch {
	case res.Status >= 300 && res.Status < 400:
		location, where := res.Header.Get("Location"), "where the SCIM endpoint really is"
		if _, path, _ := strings.Cut(res.Name, " "); movedTo(location, path) != "" {
			where = movedTo(location, path)
		}
		return fmt.Sprintf("%s redirects to %s: run again with the base URL %s", res.Name, show(location), where)
	case html:
		return fmt.Sprintf("%s answers %s with HTML: this is a web site, not a SCIM endpoint; the base URL usually ends in /scim/v2", res.Name,
			statusText(res.Status))
	case res.Status == http.StatusNotFound:
		return fmt.Sprintf(
			"%s answers %s, and so does everything else: there is no SCIM endpoint below this base URL; it usually ends in /scim/v2", res.Name,
			statusText(res.Status))
	case res.Status == http.StatusTooManyRequests:
		return fmt.Sprintf("%s answers %s: the target limits the rate of requests; try again later", res.Name, statusText(res.Status))
	case res.Status >= 500:
		return fmt.Sprintf("%s answers %s: the target is broken or not ready; look at its log", res.Name, statusText(res.Status))
	case !res.OK():
		return fmt.Sprintf("%s answers %s: the target does not let itself be read", res.Name, statusText(res.Status))
	case object == nil:
		_, err := res.decode()
		return fmt.Sprintf("%s answers %s without a JSON object (%v): this is no SCIM endpoint, or something in front of it changes its answers",
			res.Name, statusText(res.Status), err)
	case len(object.Array("schemas")) == 0 && len(res.Resources()) == 0 && res.Total() < 0:
		return fmt.Sprintf("%s answers with JSON that is not SCIM: it has neither schemas nor resources; check the base URL", res.Name)
	}
	return ""
}
