package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/outage"
	"github.com/scimwright/scimwright/scim"
)

// Code is an error code of the management API. It determines the HTTP status.
type Code string

// The error codes in use.
const (
	CodeValidation     Code = "E0000001" // input or a precondition is not valid
	CodeBody           Code = "E0000003" // body missing or not JSON
	CodeSignIn         Code = "E0000004" // sign-in failed
	CodeNoCredentials  Code = "E0000005" // no credentials on the request
	CodeForbidden      Code = "E0000006" // the caller lacks a permission or scope
	CodeNotFound       Code = "E0000007" // entity not found
	CodeNoPath         Code = "E0000008" // path not found
	CodeInternal       Code = "E0000009" // unexpected fault
	CodeToken          Code = "E0000011" // token unknown, revoked or expired
	CodeCredentials    Code = "E0000014" // old password wrong, or new one violates the policy
	CodeAlreadyActive  Code = "E0000016" // activation of a user whose status is neither STAGED nor DEPROVISIONED
	CodeMediaType      Code = "E0000021" // wrong media type of the body
	CodeMethod         Code = "E0000022" // method not supported on the path
	CodeAppOperation   Code = "E0000024" // operation not supported by the app
	CodeCursor         Code = "E0000029" // paging cursor not usable
	CodeFilter         Code = "E0000031" // filter or search expression not valid
	CodeUnlock         Code = "E0000032" // unlock of a user whose status is not locked
	CodeQueryAndFilter Code = "E0000033" // more than one of the parameters q, filter and search
	CodeForgot         Code = "E0000034" // recovery of a password not allowed for the user
	CodeChangePassword Code = "E0000035" // change of the password not allowed in the user's status
	CodeChangeQuestion Code = "E0000036" // change of the recovery question not allowed in the user's status
	CodeStatus         Code = "E0000038" // not allowed in the user's status
	CodeAppCredentials Code = "E0000041" // credentials not allowed by the app's scheme
	CodeGroupScope     Code = "E0000046" // the app user exists only through a group
	CodeRateLimit      Code = "E0000047" // rate limit
	CodeLogFilter      Code = "E0000053" // log filter, or period, not valid
	CodePushTarget     Code = "E0000055" // group push target used by another mapping
	CodeAppActive      Code = "E0000056" // deletion of an active app
	CodeConnection     Code = "E0000059" // the SCIM connection could not be verified
	CodeUnsupported    Code = "E0000060" // operation not supported
	CodeExclusive      Code = "E0000063" // mutually exclusive parameters
	CodeFactorWrong    Code = "E0000068" // passcode, answer, registration or attestation wrong
	CodeFactorLocked   Code = "E0000069" // factor operation for a locked user
	CodeMappedDiffers  Code = "E0000075" // a value for a mapped attribute differs from the result of the mapping, and profile push is enabled
	CodeReadOnly       Code = "E0000077" // attribute is read-only
	CodeImmutable      Code = "E0000078" // attribute is immutable
	CodeStateToken     Code = "E0000079" // state token used in the wrong state
	CodeResetPolicy    Code = "E0000080" // new password of a recovery violates the policy
	CodeReplayed       Code = "E0000082" // passcode already used in this window
	CodeAnswer         Code = "E0000087" // recovery answer wrong
	CodeRoleAssigned   Code = "E0000090" // role already assigned
	CodeTargetKind     Code = "E0000091" // target kind does not match the role
	CodeTooMany        Code = "E0000093" // too many elements
	CodePhone          Code = "E0000098" // phone number not valid
	CodeExpiredLink    Code = "E0000105" // recovery link expired
	CodeState          Code = "E0000107" // entity in the wrong state for a transition
	CodeSMSTooSoon     Code = "E0000109" // text message to the same number within 30 s
	CodeTransitioning  Code = "E0000112" // the user is still being activated or deactivated
	CodeInactiveUser   Code = "E0000117" // app assignment for an inactive user
	CodeEmailTooSoon   Code = "E0000118" // email to the same address within 5 s
	CodeNotAcceptable  Code = "E0000122" // the Accept header excludes JSON
	CodeNoPassword     Code = "E0000124" // nextLogin=changePassword without a password
	CodeNotActivated   Code = "E0000125" // nextLogin=changePassword with activate=false
	CodeHookAnswer     Code = "E0000135" // the endpoint of a hook returned an error
	CodeHookTimeout    Code = "E0000137" // the endpoint of a hook did not respond in time
	CodeUserType       Code = "E0000142" // the user type cannot be deleted
	CodePrecondition   Code = "E0000231" // If-Match does not match
	CodeMoved          Code = "E0000409" // the state has changed or does not allow the operation (only below /sandbox/v1)
	CodeUnavailable    Code = "E0000503" // the database does not respond, or cannot store data
	CodeNotDrained     Code = "E0000504" // work is still pending (only below /sandbox/v1)
)

// codes maps each code to its HTTP status and the default summary of its errors.
var codes = map[Code]struct {
	status  int
	summary string
}{
	CodeValidation:     {http.StatusBadRequest, "Api validation failed"},
	CodeBody:           {http.StatusBadRequest, "The request body was not well-formed."},
	CodeSignIn:         {http.StatusUnauthorized, "Authentication failed"},
	CodeNoCredentials:  {http.StatusForbidden, "The request carries no credentials"},
	CodeForbidden:      {http.StatusForbidden, "You do not have permission to perform the requested action"},
	CodeNotFound:       {http.StatusNotFound, "Not found"},
	CodeNoPath:         {http.StatusNotFound, "The requested path was not found"},
	CodeInternal:       {http.StatusInternalServerError, "Internal Server Error"},
	CodeToken:          {http.StatusUnauthorized, "Invalid token provided"},
	CodeCredentials:    {http.StatusForbidden, "Update of credentials failed."},
	CodeAlreadyActive:  {http.StatusForbidden, "Activation failed because the user is already active"},
	CodeMediaType:      {http.StatusBadRequest, "Bad request. Accept and/or Content-Type headers likely do not match supported values."},
	CodeMethod:         {http.StatusMethodNotAllowed, "The endpoint does not support the provided HTTP method"},
	CodeAppOperation:   {http.StatusBadRequest, "Bad request. Operation on application settings failed."},
	CodeCursor:         {http.StatusBadRequest, "Invalid paging request."},
	CodeFilter:         {http.StatusBadRequest, "Invalid search criteria."},
	CodeUnlock:         {http.StatusForbidden, "Unlock is not allowed for this user."},
	CodeQueryAndFilter: {http.StatusBadRequest, "Invalid search criteria. The parameters 'q', 'filter' and 'search' exclude each other."},
	CodeForgot:         {http.StatusForbidden, "Forgot password is not allowed for this user."},
	CodeChangePassword: {http.StatusForbidden, "The password cannot be changed in the user's current status."},
	CodeChangeQuestion: {http.StatusForbidden, "The recovery question cannot be changed in the user's current status."},
	CodeStatus:         {http.StatusForbidden, "This operation is not allowed in the user's current status."},
	CodeAppCredentials: {http.StatusBadRequest, "Credentials should not be set on this resource based on the scheme."},
	CodeGroupScope:     {http.StatusForbidden, "Cannot delete application user because profile editing is disabled for a group assignment."},
	CodeRateLimit:      {http.StatusTooManyRequests, "API call exceeded rate limit due to too many requests."},
	CodeLogFilter:      {http.StatusBadRequest, "Invalid filter."},
	CodePushTarget:     {http.StatusConflict, "The group is already the target of another push mapping."},
	CodeAppActive:      {http.StatusForbidden, "Deletion is not allowed while the application is active."},
	CodeConnection:     {http.StatusBadRequest, "The connection could not be verified."},
	CodeUnsupported:    {http.StatusNotImplemented, "Unsupported operation."},
	CodeExclusive:      {http.StatusBadRequest, "Invalid combination of parameters specified."},
	CodeFactorWrong:    {http.StatusForbidden, "Invalid Passcode/Answer"},
	CodeFactorLocked:   {http.StatusForbidden, "User locked. Unable to proceed with the factor operation."},
	CodeMappedDiffers:  {http.StatusForbidden, "Cannot modify an attribute because it has a field mapping and profile push is enabled."},
	CodeReadOnly:       {http.StatusForbidden, "Cannot modify an attribute because it is read-only."},
	CodeImmutable:      {http.StatusForbidden, "Cannot modify an attribute because it is immutable."},
	CodeStateToken:     {http.StatusForbidden, "This operation is not allowed in the current authentication state."},
	CodeResetPolicy:    {http.StatusForbidden, "The password does not meet the requirements of the password policy."},
	CodeReplayed:       {http.StatusForbidden, "The passcode was used already. Wait for the next one."},
	CodeAnswer:         {http.StatusForbidden, "The recovery question was not answered correctly."},
	CodeRoleAssigned:   {http.StatusConflict, "The role specified is already assigned."},
	CodeTargetKind:     {http.StatusBadRequest, "The provided role type was not the same as required role type."},
	CodeTooMany:        {http.StatusBadRequest, "Limit exceeded."},
	CodePhone:          {http.StatusBadRequest, "Invalid phone number."},
	CodeExpiredLink:    {http.StatusForbidden, "The recovery link has expired."},
	CodeState:          {http.StatusForbidden, "Cannot perform the transition in the entity's current state."},
	CodeSMSTooSoon:     {http.StatusTooManyRequests, "A text message was recently sent. Wait 30 seconds before trying again."},
	CodeTransitioning:  {http.StatusConflict, "Unable to update the user until its activation or deactivation is complete."},
	CodeInactiveUser:   {http.StatusForbidden, "Cannot assign an application to an inactive user."},
	CodeEmailTooSoon:   {http.StatusTooManyRequests, "An email was recently sent. Wait 5 seconds before trying again."},
	CodeNotAcceptable:  {http.StatusNotAcceptable, "The requested media types are not available. Only application/json is."},
	CodeNoPassword:     {http.StatusBadRequest, "A password is required to have the user change it at the next login."},
	CodeNotActivated:   {http.StatusBadRequest, "The user must be activated to have the password changed at the next login."},
	CodeMoved:          {http.StatusConflict, "The state has changed, or does not allow this operation."},
	CodeUnavailable:    {http.StatusServiceUnavailable, "The database is not available. Repeat the request later."},
	CodeNotDrained:     {http.StatusGatewayTimeout, "Provisioning work is still pending."},
	CodeHookAnswer:     {http.StatusBadRequest, "The hook endpoint answered with an error."},
	CodeHookTimeout:    {http.StatusBadRequest, "The hook endpoint did not answer."},
	CodeUserType:       {http.StatusForbidden, "The user type cannot be deleted."},
	CodePrecondition:   {http.StatusPreconditionFailed, "The resource was changed since it was read: If-Match does not match its entity tag."},
}

// Error is an error with a code of the table. Code, Summary and Causes are for the caller; the wrapped error is for the log.
type Error struct {
	Code    Code
	Summary string   // default: the summary of the code
	Causes  []string // "<member>: <error>" if the cause concerns a member
	Header  http.Header
	Err     error // the inner cause, never shown to the caller
}

// Error returns the message for the log.
func (e *Error) Error() string {
	text := string(e.Code) + ": " + e.summary()
	if len(e.Causes) > 0 {
		text += " (" + strings.Join(e.Causes, "; ") + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the inner cause.
func (e *Error) Unwrap() error { return e.Err }

// Status returns the HTTP status of the error's code.
func (e *Error) Status() int {
	if row, ok := codes[e.Code]; ok {
		return row.status
	}
	return http.StatusInternalServerError
}

// Text returns the human-readable text of the error: its causes, or its summary if it has none.
func (e *Error) Text() string {
	if len(e.Causes) > 0 {
		return strings.Join(e.Causes, "; ")
	}
	return e.summary()
}

func (e *Error) summary() string {
	if e.Summary != "" {
		return e.Summary
	}
	return codes[e.Code].summary
}

// Fail returns an error with a code, its default summary, and causes.
func Fail(code Code, causes ...string) *Error { return &Error{Code: code, Causes: causes} }

// Failf returns an error with a code and its own summary.
func Failf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Summary: fmt.Sprintf(format, args...)}
}

// NotFound returns the error for a missing entity. id is the id that the caller sent, kind its type in the management API: User,
// UserGroup, AppInstance, AppUser, GroupAssignment, ApiToken, GroupPushMapping...
func NotFound(kind, id string) *Error {
	return Failf(CodeNotFound, "Not found: Resource not found: %s (%s)", id, kind)
}

// Interfaces that errors of a store implement. This package imports no store.
type (
	notFound interface {
		error
		NotFound()
	}
	invalidCursor interface {
		error
		InvalidCursor()
	}
	notUnique interface {
		error
		UniqueIndex() string
	}
)

// Missing returns NotFound(kind, id) if err means that the document does not exist, and err unchanged otherwise.
func Missing(err error, kind, id string) error {
	if _, ok := errors.AsType[notFound](err); ok {
		return NotFound(kind, id)
	}
	return err
}

// Invalid returns a validation error with one cause.
func Invalid(member, format string, args ...any) *Error {
	var c Causes
	c.Add(member, format, args...)
	return c.err()
}

// Messages that several causes share.
const (
	textBlank  = "The field cannot be left blank"
	textTaken  = "An object with this field already exists in the current organization"
	maxCauses  = 100 // a response contains at most this number of causes
	textNoBody = "The request has no body."
)

// NotUnique returns the validation error for a value that must be unique and is not.
func NotUnique(member string) *Error { return Invalid(member, textTaken) }

// Causes collects the validation errors of a request, one cause per member: the first one. The zero value is empty.
type Causes struct {
	members []string
	texts   []string
}

// Add records a validation error of a member. If the member already has a cause, Add does nothing.
func (c *Causes) Add(member, format string, args ...any) {
	if slices.Contains(c.members, member) || len(c.members) >= maxCauses {
		return
	}
	c.members = append(c.members, member)
	c.texts = append(c.texts, member+": "+fmt.Sprintf(format, args...))
}

// Blank records that a mandatory member is missing.
func (c *Causes) Blank(member string) { c.Add(member, textBlank) }

// NotUnique records that a value must be unique and is not.
func (c *Causes) NotUnique(member string) { c.Add(member, textTaken) }

// Has reports whether a member already has a cause.
func (c *Causes) Has(member string) bool { return slices.Contains(c.members, member) }

// Err returns a validation error with all causes, or nil if there are none.
func (c *Causes) Err() error {
	if len(c.members) == 0 {
		return nil
	}
	return c.err()
}

func (c *Causes) err() *Error {
	return &Error{Code: CodeValidation, Summary: "Api validation failed: " + c.members[0], Causes: slices.Clone(c.texts)}
}

// wireError converts any error to one with a code. It maps the errors of stores and filters that an operation returns unchanged. An unknown
// error becomes an internal error, whose message is logged and not sent to the caller.
func wireError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[notUnique](err); ok {
		taken := NotUnique(e.UniqueIndex())
		taken.Err = err
		return taken
	}
	if _, ok := errors.AsType[invalidCursor](err); ok {
		return &Error{Code: CodeCursor, Err: err}
	}
	if e, ok := errors.AsType[*scim.Error](err); ok && e.ScimType == scim.InvalidFilter {
		return &Error{Code: CodeFilter, Summary: "Invalid search criteria. " + e.Detail, Err: err}
	}
	if outage.Is(err) {
		return &Error{Code: CodeUnavailable, Err: err, Header: http.Header{"Retry-After": {outage.RetryAfter}}}
	}
	return &Error{Code: CodeInternal, Err: err}
}

// ErrorBody is the body of every response with a status of 400 or more.
type ErrorBody struct {
	ErrorCode    string       `json:"errorCode" readOnly:"true" doc:"Code of the error."`
	ErrorSummary string       `json:"errorSummary" readOnly:"true" doc:"What went wrong, in one sentence."`
	ErrorLink    string       `json:"errorLink" readOnly:"true" doc:"Equal to the code."`
	ErrorID      string       `json:"errorId" readOnly:"true" doc:"Identifier of this occurrence, also in the log."`
	ErrorCauses  []ErrorCause `json:"errorCauses" readOnly:"true" doc:"All errors in the request."`
}

// ErrorCause is one cause of an error.
type ErrorCause struct {
	ErrorSummary string `json:"errorSummary" readOnly:"true" doc:"The member and its error."`
}

func (e *Error) body(id string) ErrorBody {
	body := ErrorBody{
		ErrorCode: string(e.Code), ErrorSummary: e.summary(), ErrorLink: string(e.Code), ErrorID: id,
		ErrorCauses: make([]ErrorCause, 0, len(e.Causes)),
	}
	for _, cause := range e.Causes {
		body.ErrorCauses = append(body.ErrorCauses, ErrorCause{cause})
	}
	return body
}
