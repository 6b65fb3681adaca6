package model_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// TestNewLogID_Ordered verifies that log ids sort in the order of their creation.
func TestNewLogID_Ordered(t *testing.T) {
	at := time.UnixMilli(1_772_600_767_890)
	first, last := "", ""
	for range 1000 {
		before := time.Now()
		id := model.NewLogID(at)
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, id)
		if time.Now().UnixNano() > before.UnixNano() { // the system clock was not set back in the meantime
			require.Greater(t, id, last, "ids stay in order if the clock does not advance")
		}
		last = id
		if first == "" {
			first = id
		}
	}
	require.Less(t, last, model.LogTime(at.Add(time.Millisecond)))
	require.Less(t, model.LogTime(at), first)
}

// TestAppendJSON_MatchesEncodingJSON verifies that AppendJSON writes a log event that decodes to the same value as the output of
// encoding/json.
func TestAppendJSON_MatchesEncodingJSON(t *testing.T) {
	party := rapid.Map(rapid.SliceOfN(rapid.String(), 4, 4), func(s []string) model.LogParty {
		return model.LogParty{ID: s[0], Type: s[1], AlternateID: s[2], DisplayName: s[3]}
	})
	request := rapid.Map(rapid.SliceOfN(rapid.String(), 5, 5), func(s []string) *model.LogRequest {
		return &model.LogRequest{Path: s[0], Query: s[1], IP: s[2], UserAgent: s[3], TokenID: s[4]}
	})
	for of, members := range map[reflect.Type]int{reflect.TypeFor[model.LogEvent](): 10, reflect.TypeFor[model.LogParty](): 4,
		reflect.TypeFor[model.LogRequest](): 5} {
		require.Equal(t, members, of.NumField(), "%s: AppendJSON and this test must cover all members", of)
	}
	rapid.Check(t, func(t *rapid.T) {
		event := model.LogEvent{
			ID: rapid.String().Draw(t, "id"), Published: time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "published")).UTC(),
			Type:  rapid.String().Draw(t, "type"),
			Actor: party.Draw(t, "actor"), Result: model.LogResult(rapid.String().Draw(t, "result")), Reason: rapid.String().Draw(t, "reason"),
			Targets: rapid.SliceOfN(party, 0, 3).Draw(t, "targets"), Transaction: rapid.String().Draw(t, "transaction"),
			Request: rapid.OneOf(request, rapid.Just[*model.LogRequest](nil)).Draw(t, "request"),
			Debug:   rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "debug"),
		}
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(event))
		var wrote, read model.LogEvent
		require.NoError(t, json.Unmarshal(want.Bytes(), &wrote))
		require.NoError(t, json.Unmarshal(event.AppendJSON(nil), &read))
		require.Equal(t, wrote, read)
	})
}
