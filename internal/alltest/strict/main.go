// Command strict reads the output of "go test -json" and prints it in the form of "go test". It exits with 1 if a test or a package failed,
// and if a test was skipped: a run of all tests omits no test.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() { os.Exit(run(os.Stdin, os.Stdout)) }

// event is one line of "go test -json".
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// run prints the output of failed packages, one line per other package, and the skipped tests.
func run(in io.Reader, out io.Writer) (code int) {
	said := map[string][]string{} // by package
	var skipped []string
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			code = max(code, take(line, said, &skipped, out))
		}
		if err != nil {
			break
		}
	}
	slices.Sort(skipped)
	for _, s := range skipped {
		fmt.Fprintln(out, "skipped:", s)
	}
	if len(skipped) > 0 {
		code = 1
	}
	return code
}

func take(line string, said map[string][]string, skipped *[]string, out io.Writer) (code int) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil { // output of the go command that is not JSON
		fmt.Fprint(out, line)
		return 0
	}
	switch {
	case e.Action == "output":
		said[e.Package] = append(said[e.Package], e.Output)
	case e.Action == "build-output":
		fmt.Fprint(out, e.Output)
	case e.Action == "build-fail":
		return 1
	case e.Action == "skip" && e.Test != "":
		*skipped = append(*skipped, e.Package+"."+e.Test)
	case e.Test != "" || !slices.Contains([]string{"pass", "fail", "skip"}, e.Action):
	case e.Action == "fail":
		fmt.Fprint(out, strings.Join(said[e.Package], ""))
		return 1
	default:
		if all := said[e.Package]; len(all) > 0 {
			fmt.Fprint(out, all[len(all)-1])
		}
		delete(said, e.Package)
	}
	return 0
}
