package model

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim"
)

// LogEvent is an entry of the system log. Its document id is its UUID. It is written once, in the transaction of the change that it
// describes, and holds no secrets.
type LogEvent struct {
	ID        string    `json:"id"`
	Published time.Time `json:"published"`
	// Type is the event type, for example user.lifecycle.create.
	Type  string   `json:"type"`
	Actor LogParty `json:"actor"`
	// Result is one of the LogXxx results. Reason is the cause of a failure.
	Result  LogResult  `json:"result"`
	Reason  string     `json:"reason,omitempty"`
	Targets []LogParty `json:"targets,omitempty"`
	// Transaction is the id of the request, or of the job, that the event belongs to.
	Transaction string `json:"transaction"`
	// Request is nil for events of jobs.
	Request *LogRequest `json:"request,omitempty"`
	// Debug holds further details by name.
	Debug map[string]string `json:"debug,omitempty"`
}

// LogResult is the result of the operation that an event describes.
type LogResult string

// The results.
const (
	LogSuccess LogResult = "SUCCESS"
	LogFailure LogResult = "FAILURE"
)

// LogParty is the actor or a target of an event, with the names that it had at that time.
type LogParty struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	AlternateID string `json:"alternateId,omitempty"` // a second name: a login, a label
	DisplayName string `json:"displayName,omitempty"`
}

// LogRequest is the request that an event belongs to.
type LogRequest struct {
	Path      string `json:"path"`
	Query     string `json:"query,omitempty"` // without the values of sensitive parameters
	IP        string `json:"ip,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`
	TokenID   string `json:"tokenId,omitempty"` // id of the API token of the caller
}

// AppendJSON appends JSON that encoding/json decodes to the event. It takes a third of the time of json.Marshal. Events are the most
// frequently written documents, and other requests usually wait for the transaction that writes an event.
func (e *LogEvent) AppendJSON(dst []byte) []byte {
	dst = slices.Grow(dst, usualEvent)
	dst = scim.AppendValue(append(dst, `{"id":`...), e.ID)
	dst = append(e.Published.AppendFormat(append(dst, `,"published":"`...), time.RFC3339Nano), '"')
	dst = scim.AppendValue(append(dst, `,"type":`...), e.Type)
	dst = e.Actor.appendJSON(append(dst, `,"actor":`...))
	dst = scim.AppendValue(append(dst, `,"result":`...), string(e.Result))
	dst = appendMember(dst, "reason", e.Reason)
	for i, target := range e.Targets {
		if i == 0 {
			dst = append(dst, `,"targets":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = target.appendJSON(dst)
	}
	if len(e.Targets) > 0 {
		dst = append(dst, ']')
	}
	dst = scim.AppendValue(append(dst, `,"transaction":`...), e.Transaction)
	if r := e.Request; r != nil {
		dst = scim.AppendValue(append(dst, `,"request":{"path":`...), r.Path)
		dst = appendMember(dst, "query", r.Query)
		dst = appendMember(dst, "ip", r.IP)
		dst = appendMember(dst, "userAgent", r.UserAgent)
		dst = append(appendMember(dst, "tokenId", r.TokenID), '}')
	}
	for i, name := range slices.Sorted(maps.Keys(e.Debug)) {
		if i == 0 {
			dst = append(dst, `,"debug":{`...)
		} else {
			dst = append(dst, ',')
		}
		dst = scim.AppendValue(append(scim.AppendValue(dst, name), ':'), e.Debug[name])
	}
	if len(e.Debug) > 0 {
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// usualEvent is the maximum length of nearly all encoded events, in bytes.
const usualEvent = 1024

func (p *LogParty) appendJSON(dst []byte) []byte {
	dst = scim.AppendValue(append(dst, `{"id":`...), p.ID)
	dst = scim.AppendValue(append(dst, `,"type":`...), p.Type)
	dst = appendMember(dst, "alternateId", p.AlternateID)
	return append(appendMember(dst, "displayName", p.DisplayName), '}')
}

// appendMember appends a member, unless its value is empty.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return scim.AppendValue(dst, value)
}

// The ids of log events sort by time, see NewLogID. Events are written very often, so that they have no other index.
func logEventCollection() docstore.Collection[LogEvent] {
	return docstore.NewCollection[LogEvent]("log_events")
}

// LogTime returns the common prefix of the ids of all events of a millisecond. As a string, it sorts before these ids and after the ids of
// earlier milliseconds.
func LogTime(at time.Time) string {
	text := fmt.Sprintf("%012x", at.UnixMilli())
	return text[:8] + "-" + text[8:]
}

// NewLogID returns the id of a log event that is published at the given time: a UUID of version 7 (RFC 9562). Its first part is that time,
// its second part the system time. Events of one millisecond therefore stay in order, even if the given time does not advance.
func NewLogID(at time.Time) string {
	var id [16]byte
	ticks := uint64(time.Now().UnixNano())
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16|0x7000|ticks>>49&0x0fff)
	binary.BigEndian.PutUint64(id[8:], 0b10<<62|ticks<<13&^(0b11<<62))
	var random [2]byte
	_, _ = rand.Read(random[:]) // never fails
	id[14] |= random[0] & 0x1f
	id[15] = random[1]
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
