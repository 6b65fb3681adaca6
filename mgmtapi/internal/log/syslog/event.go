package syslog

import (
	"maps"
	"net/netip"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// LogEvent is an event of the log in JSON. Members without a value are null.
type LogEvent struct {
	UUID            string                `json:"uuid" readOnly:"true" doc:"Id of the event."`
	Published       string                `json:"published" readOnly:"true" format:"date-time" doc:"Time of the event, with milliseconds."`
	EventType       string                `json:"eventType" readOnly:"true" doc:"Type of the event."`
	Version         string                `json:"version" readOnly:"true" doc:"Version of the event format."`
	Severity        string                `json:"severity" readOnly:"true" enum:"DEBUG,INFO,WARN,ERROR" doc:"Severity."`
	DisplayMessage  string                `json:"displayMessage" readOnly:"true" doc:"Human-readable description of the event type."`
	LegacyEventType *string               `json:"legacyEventType" readOnly:"true" doc:"Always null: there are no older names."`
	Actor           Party                 `json:"actor" readOnly:"true" doc:"Actor: the user or client that caused the event."`
	Client          Client                `json:"client" readOnly:"true" doc:"Client that sent the request."`
	Device          *Details              `json:"device" readOnly:"true" doc:"Always null: devices are not recorded."`
	Outcome         Outcome               `json:"outcome" readOnly:"true" doc:"Result, with the reason of a failure."`
	Target          []Party               `json:"target" readOnly:"true" doc:"Resources that the event is about."`
	Transaction     Transaction           `json:"transaction" readOnly:"true" doc:"Request or job that caused the event."`
	DebugContext    DebugContext          `json:"debugContext" readOnly:"true" doc:"Further details."`
	Authentication  AuthenticationContext `json:"authenticationContext" readOnly:"true" doc:"How the actor was authenticated."`
	SecurityContext SecurityContext       `json:"securityContext" readOnly:"true" doc:"Network of the client. All members are null."`
	Request         Request               `json:"request" readOnly:"true" doc:"IP addresses that the request passed through."`
}

// Party is the actor or a target of an event.
type Party struct {
	ID            string   `json:"id" readOnly:"true" doc:"Id."`
	Type          string   `json:"type" readOnly:"true" doc:"Kind: User, UserGroup, AppInstance, AppUser..."`
	AlternateID   string   `json:"alternateId" readOnly:"true" doc:"Alternate id, such as a login."`
	DisplayName   string   `json:"displayName" readOnly:"true" doc:"Display name."`
	DetailEntry   *Details `json:"detailEntry" readOnly:"true" doc:"Further details."`
	ChangeDetails *Details `json:"changeDetails,omitempty" readOnly:"true" doc:"Changes to the target."`
}

// Details are members without a fixed schema.
type Details map[string]any

// Client is the source of a request.
type Client struct {
	UserAgent           *UserAgent `json:"userAgent" readOnly:"true" doc:"User agent."`
	Zone                *string    `json:"zone" readOnly:"true" doc:"Network zone."`
	Device              string     `json:"device" readOnly:"true" doc:"Kind of device."`
	ID                  *string    `json:"id" readOnly:"true" doc:"Id of the OAuth client."`
	IPAddress           *string    `json:"ipAddress" readOnly:"true" doc:"IP address of the client."`
	GeographicalContext *Details   `json:"geographicalContext" readOnly:"true" doc:"Always null: locations are not recorded."`
}

// UserAgent is the program that sent a request.
type UserAgent struct {
	Raw     string `json:"rawUserAgent" readOnly:"true" doc:"Value of the User-Agent header."`
	OS      string `json:"os" readOnly:"true" doc:"Operating system."`
	Browser string `json:"browser" readOnly:"true" doc:"Browser."`
}

// Outcome is the result of an event.
type Outcome struct {
	Result string  `json:"result" readOnly:"true" enum:"SUCCESS,FAILURE" doc:"Result."`
	Reason *string `json:"reason" readOnly:"true" doc:"Reason of the failure."`
}

// Transaction is a request or a job.
type Transaction struct {
	Type   string            `json:"type" readOnly:"true" enum:"WEB,JOB" doc:"WEB for a request, JOB for work in the background."`
	ID     string            `json:"id" readOnly:"true" doc:"Id of the request, as in its X-Svc-Request-Id, or of the job."`
	Detail TransactionDetail `json:"detail" readOnly:"true" doc:"Further details."`
}

// TransactionDetail holds further details of a transaction.
type TransactionDetail struct {
	TokenID string `json:"requestApiTokenId,omitempty" readOnly:"true" doc:"Id of the API token of the caller."`
}

// DebugContext holds details by name.
type DebugContext struct {
	Data map[string]string `json:"debugData" readOnly:"true" doc:"Details by name."`
}

// AuthenticationContext describes the authentication of the actor.
type AuthenticationContext struct {
	Provider           *string `json:"authenticationProvider" readOnly:"true" doc:"Provider that authenticated the actor."`
	CredentialProvider *string `json:"credentialProvider" readOnly:"true" doc:"Provider of the credential."`
	CredentialType     *string `json:"credentialType" readOnly:"true" doc:"Kind of the credential."`
	Issuer             *string `json:"issuer" readOnly:"true" doc:"Issuer of the credential."`
	Interface          *string `json:"interface" readOnly:"true" doc:"Third-party interface that was used."`
	Step               int     `json:"authenticationStep" readOnly:"true" doc:"Always 0."`
	SessionID          *string `json:"externalSessionId" readOnly:"true" doc:"Id of the session, or of the API token."`
}

// SecurityContext describes the network of the client. All its members are null.
type SecurityContext struct {
	ASNumber *int    `json:"asNumber" readOnly:"true" doc:"Number of the autonomous system."`
	ASOrg    *string `json:"asOrg" readOnly:"true" doc:"Organization of the autonomous system."`
	ISP      *string `json:"isp" readOnly:"true" doc:"Internet service provider."`
	Domain   *string `json:"domain" readOnly:"true" doc:"Domain of the address."`
	IsProxy  *bool   `json:"isProxy" readOnly:"true" doc:"Whether the address belongs to a proxy."`
}

// Request lists the IP addresses that a request passed through.
type Request struct {
	IPChain []Hop `json:"ipChain" readOnly:"true" doc:"IP addresses that the request passed through."`
}

// Hop is an IP address that a request passed through.
type Hop struct {
	IP                  string   `json:"ip" readOnly:"true" doc:"Address."`
	GeographicalContext *Details `json:"geographicalContext" readOnly:"true" doc:"Always null: locations are not recorded."`
	Version             string   `json:"version" readOnly:"true" enum:"V4,V6" doc:"Version of the Internet Protocol."`
	Source              *string  `json:"source" readOnly:"true" doc:"Source of the address."`
}

// Constant values of log events that contain the name of the service.
const (
	version       = "0"
	web           = "WEB"
	job           = "JOB"
	authenticator = "SVC_AUTHENTICATION_PROVIDER"
	unknown       = "UNKNOWN"
)

func render(doc docstore.Doc[model.LogEvent]) LogEvent {
	e := doc.Value
	out := LogEvent{
		UUID: e.ID, Published: e.Published.UTC().Format(rest.TimeFormat), EventType: e.Type, Version: version, Severity: severity(e),
		DisplayMessage: audit.Type(e.Type).Message(), Actor: party(e.Actor),
		Outcome: Outcome{Result: string(e.Result), Reason: optional(e.Reason)},
		Client:  Client{Device: "Unknown"}, Target: []Party{}, Transaction: Transaction{Type: job, ID: e.Transaction},
		DebugContext: DebugContext{Data: map[string]string{}}, Request: Request{IPChain: []Hop{}},
	}
	for _, target := range e.Targets {
		out.Target = append(out.Target, party(target))
	}
	if r := e.Request; r != nil {
		renderRequest(&out, r, e.Transaction)
	}
	maps.Copy(out.DebugContext.Data, e.Debug)
	return out
}

// renderRequest sets the members that depend on the request of an event.
func renderRequest(out *LogEvent, r *model.LogRequest, id string) {
	out.Transaction.Type, out.Transaction.Detail.TokenID = web, r.TokenID
	out.Client.IPAddress = optional(r.IP)
	if r.UserAgent != "" {
		out.Client.UserAgent = agent(r.UserAgent)
		out.Client.Device = device(r.UserAgent)
	}
	url := r.Path
	if r.Query != "" {
		url += "?" + r.Query
	}
	out.DebugContext.Data = map[string]string{"requestUri": r.Path, "url": url, "requestId": id}
	if r.TokenID != "" {
		out.Authentication.Provider, out.Authentication.SessionID = optional(authenticator), optional(r.TokenID)
	}
	if ip, err := netip.ParseAddr(r.IP); err == nil {
		hop := Hop{IP: r.IP, Version: "V6"}
		if ip.Unmap().Is4() {
			hop.Version = "V4"
		}
		out.Request.IPChain = append(out.Request.IPChain, hop)
	}
}

func party(p model.LogParty) Party {
	return Party{ID: p.ID, Type: p.Type, AlternateID: p.AlternateID, DisplayName: p.DisplayName}
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// severity returns the severity of an event: ERROR for a failed job, WARN for a rejected request.
func severity(e model.LogEvent) string {
	switch {
	case e.Result == model.LogSuccess:
		return "INFO"
	case e.Request == nil:
		return "ERROR"
	default:
		return "WARN"
	}
}

// The substrings of User-Agent headers that identify operating systems, browsers and kinds of device. The first match wins.
var (
	systems = [][2]string{{"Windows", "Windows"}, {"Android", "Android"}, {"iPhone", "iOS"}, {"iPad", "iOS"}, {"Mac OS X", "Mac OS X"},
		{"Linux", "Linux"}}
	browsers = [][2]string{{"Edg/", "EDGE"}, {"OPR/", "OPERA"}, {"Firefox/", "FIREFOX"}, {"Chrome/", "CHROME"}, {"Safari/", "SAFARI"}}
	devices  = [][2]string{{"iPad", "Tablet"}, {"Mobile", "Mobile"}, {"Mozilla/", "Computer"}}
)

func agent(raw string) *UserAgent {
	return &UserAgent{Raw: raw, OS: named(raw, systems, "Unknown"), Browser: named(raw, browsers, unknown)}
}

func device(raw string) string { return named(raw, devices, "Unknown") }

func named(raw string, names [][2]string, otherwise string) string {
	for _, n := range names {
		if strings.Contains(raw, n[0]) {
			return n[1]
		}
	}
	return otherwise
}
