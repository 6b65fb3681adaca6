package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/console"
)

// maxLink is the maximum size in bytes of the response with a login link.
const maxLink = 64 << 10

// LoginLink requests a login link for a console at a base URL, with the token of the client after an authorization scheme such as SSWS. It
// returns the link, and the response.
func (c *APIClient) LoginLink(ctx context.Context, base, scheme string) (link string, response json.RawMessage, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+console.LinkPath, nil)
	if err != nil {
		return "", nil, err
	}
	req.Header.Set("Authorization", scheme+" "+c.Token)
	res, err := c.HTTP.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxLink))
	if err != nil {
		return "", nil, err
	}
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return "", nil, errors.New("this server has no console: check --url, and whether the server was started with --no-console")
	default:
		err := apiError(req.Method, req.URL.Path, res.StatusCode, body)
		if _, ok := errors.AsType[*APIError](err); !ok { // the console responds with text
			err = fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(body)))
		}
		return "", nil, err
	}
	var made console.NewLink
	if err := json.Unmarshal(body, &made); err != nil {
		return "", nil, errors.New("the response is not that of a console: check --url")
	}
	return made.ConsoleURL, body, nil
}
