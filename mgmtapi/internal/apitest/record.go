package apitest

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// RecordFile is the file with the record of operations of a package, see Main.
const RecordFile = "testdata/operations.txt"

const recordHead = `# Which operations succeeded in which tests of this package, and which log events they wrote.
# Tests with -update write this file. Every complete run of the tests compares its record with this file.
`

// Coverage maps the id of an operation to the tests and log events recorded for it.
type Coverage map[string]Seen

// Seen is the record of one operation.
type Seen struct {
	// Tests are the tests in which the operation succeeded.
	Tests []string
	// Events are the types of the log events that successful calls wrote.
	Events []string
}

// NoOperation is the key of log events that a job or a rejected request wrote.
const NoOperation = "-"

// recorder collects facts.
type recorder struct {
	mu    sync.Mutex
	facts map[fact]bool
}

type fact struct{ operation, kind, name string }

const (
	kindTest  = "test"
	kindEvent = "event"
)

// seen is the record of this process. All its tests share it, because the record is complete only for the whole process.
var seen = recorder{facts: map[fact]bool{}}

// add records that an operation succeeded.
func (r *recorder) add(operation, test string, events ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	test, _, _ = strings.Cut(test, "/")
	r.facts[fact{operation, kindTest, test}] = true
	for _, event := range events {
		r.facts[fact{operation, kindEvent, event}] = true
	}
}

// String returns the content of a record file.
func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := []string{}
	for f := range r.facts {
		lines = append(lines, f.operation+" "+f.kind+" "+f.name+"\n")
	}
	slices.Sort(lines)
	return recordHead + strings.Join(lines, "")
}

// Main calls sqldbtest.Main and then compares the record of the tests with RecordFile. With -update, it rewrites the file instead. Only a
// complete, successful run has the whole record: a run of selected tests neither compares nor writes it.
func Main(m *testing.M) int {
	flag.Parse()
	code := sqldbtest.Main(m)
	if code != 0 || !complete() {
		return code
	}
	have := seen.String()
	if goldentest.Updating() {
		if err := goldentest.Write(RecordFile, have); err != nil {
			fmt.Fprintln(os.Stderr, "apitest:", err)
			return 1
		}
		return code
	}
	want, err := os.ReadFile(RecordFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "apitest:", err)
		return 1
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(have, "\n")); diff != "" {
		fmt.Fprintf(os.Stderr, "apitest: the record of the tests differs from %s; rewrite it with -update (-file +seen):\n%s", RecordFile,
			diff)
		return 1
	}
	return code
}

// complete reports whether all tests of the package ran.
func complete() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

// ReadFacts adds the record file of the package in dir to facts. The base name of dir is the prefix of the test names.
func ReadFacts(facts Coverage, dir string) error {
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(RecordFile)))
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		words := strings.Fields(lines.Text())
		if len(words) != 3 {
			return fmt.Errorf("%s: line %q is not \"operation kind value\": run the tests with -update", file.Name(), lines.Text())
		}
		of := facts[words[0]]
		switch words[1] {
		case kindTest:
			of.Tests = append(of.Tests, filepath.Base(dir)+"."+words[2])
		case kindEvent:
			if !slices.Contains(of.Events, words[2]) {
				of.Events = append(of.Events, words[2])
			}
		default:
			return fmt.Errorf("%s: unknown kind %q in the second word of a line: run the tests with -update", file.Name(), words[1])
		}
		facts[words[0]] = of
	}
	return lines.Err()
}

// Operations lists the operations in the record.
func (f Coverage) Operations() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(id string) bool { return id == NoOperation })
}
