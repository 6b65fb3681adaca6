package quirks

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/similar"
)

// Argument describes the argument of a quirk, which follows its name after "=".
type Argument struct {
	// Kind is the syntax of the argument. The zero value means that the quirk has no argument.
	Kind ArgumentKind
	// Name is the placeholder in texts, such as "N".
	Name string
	// Default is the argument if the setting has none. If it is empty, the argument is required.
	Default string
}

// ArgumentKind is the syntax of an argument.
type ArgumentKind string

// The kinds.
const (
	Number    ArgumentKind = "number"    // a positive integer
	Text      ArgumentKind = "text"      // a string without a comma
	Duration  ArgumentKind = "duration"  // such as 200ms or 1.5s
	Status    ArgumentKind = "status"    // an HTTP status from 400 to 599
	maxNumber              = 1_000_000   // maximum of Number
	maxTime                = time.Minute // maximum of Duration
)

// Usage returns the syntax of a setting of the quirk, such as "patch-members[=N]".
func (q Quirk) Usage() string {
	switch {
	case q.Argument.Kind == "":
		return q.Name
	case q.Argument.Default == "":
		return q.Name + "=" + q.Argument.Name
	default:
		return q.Name + "[=" + q.Argument.Name + "]"
	}
}

// Setting is an active quirk with its argument and options.
type Setting struct {
	Name     string
	Argument string // validated, with the default filled in; "" if the quirk has no argument

	// The next four fields are the options of chaos quirks. For other quirks they are zero.
	Probability float64 // per request, above 0 and up to 1. Default of Parse: DefaultProbability
	Seed        uint64  // seed of the random numbers. Default of Parse: 1
	Times       int     // maximum number of affected requests; 0 means no limit
	Method      string  // affects only requests with this method; "" for all
}

// DefaultProbability is the default of Setting.Probability in Parse.
const DefaultProbability = 0.1

const defaultSeed = 1

// unknown returns the error of a setting with an unknown name.
func unknown(name string) error {
	var names []string
	for _, q := range All() {
		names = append(names, q.Name)
	}
	return fmt.Errorf("unknown quirk %q%s", name, similar.Hint(name, names))
}

// Parse reads a setting: NAME or NAME=ARGUMENT, for chaos followed by any of ",p=PROBABILITY", ",seed=N", ",times=N" and ",method=METHOD".
func Parse(text string) (Setting, error) {
	head, options, _ := strings.Cut(text, ",")
	name, argument, given := strings.Cut(head, "=")
	q, ok := Lookup(name)
	if !ok {
		return Setting{}, unknown(name)
	}
	s := Setting{Name: name, Argument: argument}
	if !given {
		s.Argument = q.Argument.Default
	}
	if err := q.Argument.check(s.Argument, given); err != nil {
		return Setting{}, fmt.Errorf("quirk %s: %w", q.Usage(), err)
	}
	if q.Category == Chaos {
		s.Probability, s.Seed = DefaultProbability, defaultSeed
	} else if options != "" {
		return Setting{}, fmt.Errorf("quirk %s: only chaos quirks have options, such as %q", q.Usage(), options)
	}
	for option := range strings.SplitSeq(options, ",") {
		if option == "" {
			continue
		}
		if err := s.option(option); err != nil {
			return Setting{}, fmt.Errorf("quirk %s: %w", name, err)
		}
	}
	return s, nil
}

// ParseAll reads several settings.
func ParseAll(texts []string) ([]Setting, error) {
	var all []Setting
	for _, text := range texts {
		s, err := Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (a Argument) check(value string, given bool) error {
	switch a.Kind {
	case "":
		if given {
			return fmt.Errorf("the quirk has no argument")
		}
		return nil
	case Number:
		if n, err := strconv.Atoi(value); err != nil || n < 1 || n > maxNumber {
			return fmt.Errorf("%s must be a number from 1 to %d, not %q", a.Name, maxNumber, value)
		}
	case Duration:
		if d, err := time.ParseDuration(value); err != nil || d <= 0 || d > maxTime {
			return fmt.Errorf("%s must be a duration such as 200ms, up to %s, not %q", a.Name, maxTime, value)
		}
	case Status:
		if n, err := strconv.Atoi(value); err != nil || n < 400 || n > 599 {
			return fmt.Errorf("%s must be an HTTP status from 400 to 599, not %q", a.Name, value)
		}
	case Text:
		if value == "" {
			return fmt.Errorf("%s is required", a.Name)
		}
	}
	return nil
}

func (s *Setting) option(text string) error {
	key, value, _ := strings.Cut(text, "=")
	var err error
	switch key {
	case "p":
		s.Probability, err = strconv.ParseFloat(value, 64)
		if err != nil || !(s.Probability > 0 && s.Probability <= 1) {
			return fmt.Errorf("p must be a probability above 0 and up to 1, not %q", value)
		}
	case "seed":
		if s.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
			return fmt.Errorf("seed must be an integer of at least 0, not %q", value)
		}
	case "times":
		if s.Times, err = strconv.Atoi(value); err != nil || s.Times < 1 {
			return fmt.Errorf("times must be a positive number, not %q", value)
		}
	case "method":
		switch value {
		case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
			s.Method = value
		default:
			return fmt.Errorf("method must be GET, POST, PUT, PATCH or DELETE, not %q", value)
		}
	default:
		return fmt.Errorf("%q is not one of p, seed, times, method", key)
	}
	return nil
}

// String returns the setting in the form that Parse reads.
func (s Setting) String() string {
	var b strings.Builder
	b.WriteString(s.Name)
	if s.Argument != "" {
		b.WriteString("=" + s.Argument)
	}
	if s.Probability != 0 {
		b.WriteString(",p=" + strconv.FormatFloat(s.Probability, 'g', -1, 64) + ",seed=" + strconv.FormatUint(s.Seed, 10))
	}
	if s.Times != 0 {
		b.WriteString(",times=" + strconv.Itoa(s.Times))
	}
	if s.Method != "" {
		b.WriteString(",method=" + s.Method)
	}
	return b.String()
}

// number returns the argument of a quirk whose argument is a Number or a Status. Parse has validated the argument.
func (s Setting) number() int {
	n, _ := strconv.Atoi(s.Argument)
	return n
}

// duration returns the argument of a quirk whose argument is a Duration.
func (s Setting) duration() time.Duration {
	d, _ := time.ParseDuration(s.Argument)
	return d
}

// withChaos returns a chaos quirk: its deviation applies only to the requests that the random numbers of the setting select.
func withChaos(start func(s Setting) deviation) func(s Setting) deviation {
	return func(s Setting) deviation {
		deviate, drawn := start(s), newDraws(s)
		return func(c *call) *response {
			strikes, err := drawn.strikes(c)
			switch {
			case err != nil:
				return unavailable(err)
			case !strikes:
				return nil
			}
			return deviate(c)
		}
	}
}
