package connect

import (
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// AttemptOf returns an exchange of a run in the form in which it is stored.
func AttemptOf(run string, x wirelog.Exchange) engine.Attempt {
	return engine.Attempt{
		Run: run, At: x.At, Method: x.Method, URL: x.URL, RequestHeader: x.RequestHeader, RequestBody: x.RequestBody,
		Status: x.Status, ResponseHeader: x.ResponseHeader, ResponseBody: x.ResponseBody, Duration: x.Duration, Error: x.Err,
	}
}
