package matrix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/scimwright/scimwright/conformance/report"
)

// sidecars are the endings of the files with a [Product].
var sidecars = []string{".product.yaml", ".product.yml", ".product.json"}

// Read reads the JSON reports of a directory and combines them. The name of a product without a description is that of its report file.
// The error names the file: a JSON file that is not a report, a description without a report or with an unknown member, two reports of one
// product, or a directory without reports.
func Read(dir string) (*Matrix, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var reports []tested
	var products []string
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir():
		case sidecar(name) != "":
			products = append(products, name)
		case strings.HasSuffix(name, ".json"):
			t, err := readReport(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			reports = append(reports, t)
		}
	}
	if len(reports) == 0 {
		return nil, fmt.Errorf("%s contains no JSON report: write one with run --output json=%s", dir, filepath.Join(dir, "NAME.json"))
	}
	for _, name := range products {
		id := strings.TrimSuffix(name, sidecar(name))
		at := slices.IndexFunc(reports, func(t tested) bool { return t.id == id })
		if at < 0 {
			return nil, fmt.Errorf("%s describes no report: %s.json does not exist", filepath.Join(dir, name), id)
		}
		if reports[at].product, err = readProduct(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	seen := map[string]string{}
	for i := range reports {
		p := &reports[i].product
		if p.Name == "" {
			p.Name = reports[i].id
		}
		key := strings.Join([]string{p.Name, p.Version, p.Setup}, "\n")
		if other, twice := seen[key]; twice {
			return nil, fmt.Errorf("%s.json and %s.json have the same product, version and setup: give one of them another setup", other,
				reports[i].id)
		}
		seen[key] = reports[i].id
	}
	return combine(reports), nil
}

// sidecar returns the ending of the name of a file with a product, "" for any other file.
func sidecar(name string) string {
	for _, ending := range sidecars {
		if strings.HasSuffix(name, ending) {
			return ending
		}
	}
	return ""
}

func readReport(path string) (tested, error) {
	t := tested{id: strings.TrimSuffix(filepath.Base(path), ".json")}
	data, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	if t.document, err = report.Parse(data); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func readProduct(path string) (Product, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Product{}, err
	}
	var file struct {
		Name, Link, Setup, Reproduce string
		Version                      verbatim
		Notes                        []string
	}
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.Strict()); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return Product{}, fmt.Errorf("%s is not a YAML or JSON object with name, version, link, setup, reproduce and notes: %s", path, first)
	}
	p := Product{
		Name: file.Name, Version: string(file.Version), Link: file.Link, Setup: file.Setup, Reproduce: file.Reproduce, Notes: file.Notes,
	}
	if p.Name == "" {
		return p, fmt.Errorf("%s: the product has no name: add the member name", path)
	}
	return p, nil
}

// verbatim is a string as the file spells it: the version 1.10 is not the number 1.1.
type verbatim string

// UnmarshalYAML implements yaml.BytesUnmarshaler.
func (v *verbatim) UnmarshalYAML(data []byte) error {
	written := strings.TrimSpace(string(data))
	if _, err := strconv.ParseFloat(written, 64); err == nil {
		*v = verbatim(written)
		return nil
	}
	return yaml.Unmarshal(data, (*string)(v))
}

// Load reads a directory of reports, or a file with the JSON form of a matrix.
func Load(path string) (*Matrix, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: give a directory of JSON reports", path)
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return Read(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}
