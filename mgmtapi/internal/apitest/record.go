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

// RecordFile is where a package keeps what its tests have seen, see Main.
const RecordFile = "testdata/operations.txt"

const recordHead = `# Which operations succeeded in which tests of this package, and which log events they wrote.
# The tests write it with -update, and every complete run compares.
`

// Coverage are what tests have seen of the operations, by the id of the operation and then the kind of the fact.
type Coverage map[string]Seen

// Seen is what tests have seen of one operation.
type Seen struct {
	// Tests are the tests in which it succeeded.
	Tests []string
	// Events are the types of the log events that its successes wrote.
	Events []string
}

// NoOperation stands for what no operation has done, but a job, or a request that was refused.
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

// seen is what the tests of this process have seen: they share it because the process is what is complete, not a test.
var seen = recorder{facts: map[fact]bool{}}

// add notes that an operation succeeded.
func (r *recorder) add(operation, test string, events ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	test, _, _ = strings.Cut(test, "/")
	r.facts[fact{operation, kindTest, test}] = true
	for _, event := range events {
		r.facts[fact{operation, kindEvent, event}] = true
	}
}

// String is the content of a record file.
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

// Main is sqldbtest.Main that also compares what the tests have seen of the operations with RecordFile, or rewrites that
// with -update. Only a complete run that succeeded knows everything: one of selected tests leaves the file alone.
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
		fmt.Fprintf(os.Stderr, "apitest: the tests have seen something else than %s says; rewrite it with -update (-file +seen):\n%s", RecordFile,
			diff)
		return 1
	}
	return code
}

// complete says whether all tests of the package were run.
func complete() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

// ReadFacts reads the record file of the package in a directory and adds what it says to the facts. Tests are named with
// the base of the directory in front.
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
			return fmt.Errorf("%s: line %q is no fact", file.Name(), lines.Text())
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
			return fmt.Errorf("%s: %q is no kind of fact", file.Name(), words[1])
		}
		facts[words[0]] = of
	}
	return lines.Err()
}

// Operations lists the operations that the facts are about.
func (f Coverage) Operations() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(id string) bool { return id == NoOperation })
}
