// Command saas is an application with its own users and teams that an identity provider manages by SCIM. Its tables are the store of the
// SCIM server. The program simulates the identity provider, checks that the tables change accordingly, and exits. With --listen it serves
// until it is stopped.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // driver "sqlite3"

	"github.com/scimwright/scimwright/scimserver"
)

// token is the bearer token of the identity provider. A real application creates one per customer.
const token = "secret"

func main() {
	listen := flag.String("listen", "", "serve at this address until stopped, for example 127.0.0.1:8080")
	flag.Parse()
	if err := run(context.Background(), *listen, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// openApp returns the application's database and its HTTP handler.
func openApp(ctx context.Context, file string) (*sql.DB, http.Handler, error) {
	db, err := sql.Open("sqlite3", "file:"+file+"?_journal_mode=WAL&_busy_timeout=10000&_txlock=immediate")
	if err != nil {
		return nil, nil, err
	}
	s, err := newStore(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	scim, err := scimserver.New(scimserver.Options{
		// a low PasswordCost: the passwords of the example are not secrets
		Store: s, Tokens: scimserver.StaticTokens(token), Prefix: "/scim/v2", PasswordCost: 4,
	})
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/scim/v2/", scim)
	mux.HandleFunc("GET /people", func(w http.ResponseWriter, r *http.Request) {
		logins, err := people(r.Context(), db)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, strings.Join(logins, "\n"))
	})
	return db, mux, nil
}

// people returns the logins of the users that may sign in. It queries the application's own table users.
func people(ctx context.Context, db *sql.DB) (all []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT login FROM users WHERE active ORDER BY login")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var login string
		if err := rows.Scan(&login); err != nil {
			return nil, err
		}
		all = append(all, login)
	}
	return all, rows.Err()
}

func run(ctx context.Context, listen string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "saas-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, handler, err := openApp(ctx, filepath.Join(dir, "app.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	if listen != "" {
		server := &http.Server{Addr: listen, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		fmt.Fprintf(out, "SCIM at http://%s/scim/v2 with the token %s\n", listen, token)
		return server.ListenAndServe()
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	return play(ctx, db, client{server.URL + "/scim/v2"}, out)
}

// play simulates the identity provider: it creates two users and a team, renames one user and deactivates the other.
func play(ctx context.Context, db *sql.DB, c client, out io.Writer) error {
	const user, patch = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":%q,"active":true}`,
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","path":%q,"value":%s}]}`
	expect := func(step string, want ...string) error {
		got, err := people(ctx, db)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-40s %s\n", step, strings.Join(got, " "))
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s: the application has %v, expected %v", step, got, want)
		}
		return nil
	}
	ada, err := c.send(ctx, "POST", "/Users", fmt.Sprintf(user, "ada@example.com"))
	if err != nil {
		return err
	}
	bob, err := c.send(ctx, "POST", "/Users", fmt.Sprintf(user, "bob@example.com"))
	if err != nil {
		return err
	}
	if err := expect("two users are created", "ada@example.com", "bob@example.com"); err != nil {
		return err
	}
	team := fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"displayName":"Staff","members":[{"value":%q}]}`, ada)
	if _, err := c.send(ctx, "POST", "/Groups", team); err != nil {
		return err
	}
	if _, err := c.send(ctx, "PATCH", "/Users/"+ada, fmt.Sprintf(patch, "userName", `"ada@example.org"`)); err != nil {
		return err
	}
	if err := expect("a user gets another name", "ada@example.org", "bob@example.com"); err != nil {
		return err
	}
	if _, err := c.send(ctx, "PATCH", "/Users/"+bob, fmt.Sprintf(patch, "active", "false")); err != nil {
		return err
	}
	if err := expect("a user is deactivated", "ada@example.org"); err != nil {
		return err
	}
	var members int
	const staff = "SELECT COUNT(*) FROM team_members m JOIN teams t ON t.id = m.team WHERE t.display = 'Staff'"
	if err := db.QueryRowContext(ctx, staff).Scan(&members); err != nil || members != 1 {
		return fmt.Errorf("the team Staff has %d members, expected 1 (%v)", members, err)
	}
	fmt.Fprintln(out, "the application and the identity provider agree")
	return nil
}

// client sends requests like an identity provider.
type client struct{ base string }

// send returns the id of the resource in the response, if there is one.
func (c client) send(ctx context.Context, method, path, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/scim+json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		return "", fmt.Errorf("%s %s: %s %s (%v)", method, path, res.Status, answer, err)
	}
	var out struct {
		ID string `json:"id"`
	}
	if len(answer) > 0 {
		err = json.Unmarshal(answer, &out)
	}
	return out.ID, err
}
