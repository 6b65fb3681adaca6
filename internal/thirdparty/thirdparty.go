// Package thirdparty writes THIRD_PARTY.md: the modules that the programs contain, their licenses, and the texts that a distribution of the
// programs must contain. It reads the module cache and needs no network if the module has been built.
package thirdparty

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// A Module is a module of other authors, or the standard library of Go.
type Module struct {
	Path, Version string
	// Licenses are the identifiers of SPDX, the main one first.
	Licenses []string
	// Texts are the contents of its license and notice files, by name.
	Texts map[string]string

	dir string
}

// Standard is the path of the standard library.
const Standard = "Go standard library"

// sure is the minimum part of a file, in percent, that must match a known license.
const sure = 75

// Contained returns the modules of the packages that packages depend on, without their tests, in the module with the given root. The
// version of the standard library is empty, because it is that of the build.
func Contained(ctx context.Context, root string, packages ...string) ([]Module, error) {
	all, err := list(ctx, root, append([]string{"-deps"}, packages...))
	if err != nil {
		return nil, err
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	return read(append([]Module{{Path: Standard, dir: strings.TrimSpace(string(goroot))}}, all...))
}

// OnlyTests returns the modules of packages that only tests depend on.
func OnlyTests(ctx context.Context, root string, contained []Module) ([]Module, error) {
	all, err := list(ctx, root, []string{"-deps", "-test", "./..."})
	if err != nil {
		return nil, err
	}
	return read(slices.DeleteFunc(all, func(m Module) bool {
		return slices.ContainsFunc(contained, func(c Module) bool { return c.Path == m.Path })
	}))
}

// list returns the modules that go list prints, sorted by path.
func list(ctx context.Context, root string, args []string) ([]Module, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=Module"}, args...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found := map[string]Module{}
	for decoder := json.NewDecoder(out); ; {
		var p struct {
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, errors.Join(err, cmd.Wait())
		}
		if p.Module != nil && !p.Module.Main {
			found[p.Module.Path] = Module{Path: p.Module.Path, Version: p.Module.Version, dir: p.Module.Dir}
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []Module
	for _, m := range found {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// read reads the license and notice files of modules.
func read(all []Module) ([]Module, error) {
	for i := range all {
		m := &all[i]
		entries, err := os.ReadDir(m.dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		m.Texts = map[string]string{}
		for _, e := range entries {
			base, _, _ := strings.Cut(strings.ToUpper(e.Name()), ".")
			base, _, _ = strings.Cut(base, "-")
			known := slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS", "UNLICENSE"}, base)
			if !e.Type().IsRegular() || !known || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
			if err != nil {
				return nil, err
			}
			m.Texts[e.Name()] = string(text)
			if base == "NOTICE" || base == "PATENTS" {
				continue
			}
			licenses, err := Identify(string(text))
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", m.Path, e.Name(), err)
			}
			for _, id := range licenses {
				if !slices.Contains(m.Licenses, id) {
					m.Licenses = append(m.Licenses, id)
				}
			}
		}
		if len(m.Licenses) == 0 {
			return nil, fmt.Errorf("%s %s has no license file", m.Path, m.Version)
		}
	}
	return all, nil
}

// Identify returns the identifiers of the licenses in a text. It returns an error if most of the text is not a known license.
func Identify(text string) ([]string, error) {
	cover := licensecheck.Scan([]byte(text))
	var ids []string
	for _, match := range cover.Match {
		if !match.IsURL && !slices.Contains(ids, match.ID) {
			ids = append(ids, match.ID)
		}
	}
	if len(ids) == 0 || cover.Percent < sure {
		return ids, fmt.Errorf("the license is not known: %.0f %% of the text matches %v", cover.Percent, ids)
	}
	return ids, nil
}

const start = `# Third-party software

This page is for those who distribute the programs. It lists the modules that ` + "`scimwright` and `scim-conformance`" + ` contain,
their licenses, and the texts that a distribution must contain. ` + "`make third-party`" + ` writes this page from go.mod and the module
cache; a test compares it.
The license of each module is determined from its text by github.com/google/licensecheck.

The module github.com/mattn/go-sqlite3 contains SQLite, which is in the public domain. MPL-2.0 also requires that recipients can obtain the
source of the module: ` + "`go mod download -json MODULE@VERSION`" + ` downloads it.
`

// Page returns THIRD_PARTY.md.
func Page(contained, onlyTests []Module) string {
	var b strings.Builder
	b.WriteString(start)
	table := func(title string, modules []Module) {
		fmt.Fprintf(&b, "\n## %s\n\n| Module | Version | License |\n|---|---|---|\n", title)
		for _, m := range modules {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", m.Path, m.Version, strings.Join(m.Licenses, ", "))
		}
	}
	table("In the programs", contained)
	table("Only in tests", onlyTests)
	b.WriteString("\n## Texts\n")
	type text struct{ content, of string }
	var texts []text
	for _, m := range contained {
		names := make([]string, 0, len(m.Texts))
		for name := range m.Texts {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			content := normal(m.Texts[name])
			if i := slices.IndexFunc(texts, func(t text) bool { return t.content == content }); i >= 0 {
				texts[i].of += ", " + m.Path
			} else {
				texts = append(texts, text{content, m.Path})
			}
		}
	}
	for _, t := range texts {
		fmt.Fprintf(&b, "\n### %s\n\n````text\n%s\n````\n", t.of, t.content)
	}
	return b.String()
}

// normal returns a text without differences that have no meaning: the ends of lines, and empty lines at the start and the end.
func normal(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
