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

// LogEvent is an entry of the system log. Its document id is its UUID. It is written once, in the transaction of what it
// tells of, and holds no secrets.
type LogEvent struct {
	ID        string    `json:"id"`
	Published time.Time `json:"published"`
	// Type is the event type: user.lifecycle.create.
	Type  string   `json:"type"`
	Actor LogParty `json:"actor"`
	// Result is one of the LogXxx results; Reason tells why a failure failed.
	Result  LogResult  `json:"result"`
	Reason  string     `json:"reason,omitempty"`
	Targets []LogParty `json:"targets,omitempty"`
	// Transaction is the id of the request, or of the job, that the event belongs to.
	Transaction string `json:"transaction"`
	// Request is nil for the work of jobs.
	Request *LogRequest `json:"request,omitempty"`
	// Debug holds further details by name.
	Debug map[string]string `json:"debug,omitempty"`
}

// LogResult is how what an event tells of ended.
type LogResult string

// The results.
const (
	LogSuccess LogResult = "SUCCESS"
	LogFailure LogResult = "FAILURE"
)

// LogParty is someone who acts, or something that is acted on, as it was called at that time.
type LogParty struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	AlternateID string `json:"alternateId,omitempty"` // a second name: a login, a label
	DisplayName string `json:"displayName,omitempty"`
}

// LogRequest is the request that an event belongs to.
type LogRequest struct {
	Path      string `json:"path"`
	Query     string `json:"query,omitempty"` // without the values of what may be secret
	IP        string `json:"ip,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`
	TokenID   string `json:"tokenId,omitempty"` // id of the API token of the caller
}

// AppendJSON appends what encoding/json reads as the event, in a third of the time that it needs to write it: nothing is stored as often as
// events, and nearly always while others wait for the transaction.
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

// usualEvent is how long the text of nearly all events is at most.
const usualEvent = 1024

func (p *LogParty) appendJSON(dst []byte) []byte {
	dst = scim.AppendValue(append(dst, `{"id":`...), p.ID)
	dst = scim.AppendValue(append(dst, `,"type":`...), p.Type)
	dst = appendMember(dst, "alternateId", p.AlternateID)
	return append(appendMember(dst, "displayName", p.DisplayName), '}')
}

// appendMember appends a member that is left out when it is empty.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return scim.AppendValue(dst, value)
}

// The ids of the log are its order too, see NewLogID: events, which are written all the time, need no other index.
func logEventCollection() docstore.Collection[LogEvent] {
	return docstore.NewCollection[LogEvent]("log_events")
}

// LogTime begins the ids of all events of a millisecond: as text it is before them, and behind those of the milliseconds before it.
func LogTime(at time.Time) string {
	text := fmt.Sprintf("%012x", at.UnixMilli())
	return text[:8] + "-" + text[8:]
}

// NewLogID makes the id of a log event that is published at a time: a UUID of version 7 (RFC 9562), whose first part is that time and whose
// second part is the time of the computer, so that events of one millisecond, which are told in one order, keep it even under
// a clock that stands still.
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
