package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxResponse is the maximum size of a response that the API client reads, in bytes.
const maxResponse = 8 << 20

// APIClient calls the management API of a sandbox. The seed uses it, so that the seeded organization passes the same validation as any
// other. The CLI commands use it too.
type APIClient struct {
	BaseURL string // scheme and host, without a path
	Token   string // SSWS token
	HTTP    *http.Client
}

// Do sends one request. If result is not nil, Do decodes the body of the response into result. For a response outside 2xx, Do returns an
// *APIError with the summary and causes of the API.
func (c *APIClient) Do(ctx context.Context, method, path string, body, result any) error {
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, payload)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "SSWS "+c.Token)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return apiError(method, path, res.StatusCode, data)
	}
	if result == nil || len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, result); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// APIError is an error response of the management API.
type APIError struct {
	Method, Path string
	Status       int
	Code         string
	Text         string // the summary and the causes
	Causes       []string
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%s %s: %d %s: %s", e.Method, e.Path, e.Status, e.Code, e.Text)
}

func apiError(method, path string, status int, body []byte) error {
	var e struct {
		Code    string `json:"errorCode"`
		Summary string `json:"errorSummary"`
		Causes  []struct {
			Summary string `json:"errorSummary"`
		} `json:"errorCauses"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Code == "" {
		return fmt.Errorf("%s %s: status %d, and not a response of the management API", method, path, status)
	}
	parts := []string{e.Summary}
	for _, c := range e.Causes {
		parts = append(parts, c.Summary)
	}
	return &APIError{Method: method, Path: path, Status: status, Code: e.Code, Text: strings.Join(parts, "; "), Causes: parts[1:]}
}
