// Package storedtest checks that the current code decodes the JSON that earlier versions have stored, with the same values.
//
// A package that stores JSON has files testdata/stored/COMMIT.json. Each file contains forms by name. A form consists of the text that the
// code of that commit stored, and of the values that the text had in Go. A file is never changed after it was written, because databases
// that the code of that commit has written do not change either. Forms that a later commit introduces are in the file of that commit.
package storedtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Form is a stored text and its values.
type Form struct {
	Stored json.RawMessage `json:"stored"`
	// Means are the values of the decoded text by the names of the Go fields, such as "Profile.login" or "Keys.0.Expires".
	Means map[string]any `json:"means"`
}

// Codec decodes and encodes a form. The zero value is encoding/json, which uses the methods of the type.
type Codec struct {
	// New returns a pointer to a zero value.
	New func() any
	// Marshal is the encoder of types that encoding/json does not support.
	Marshal func(value any) ([]byte, error)
	// Renamed maps paths in the files to the current names of Go fields, because Go fields may be renamed after a file was written.
	Renamed map[string]string
}

// Of returns the codec of a type for encoding/json.
func Of[T any]() Codec { return Codec{New: func() any { return new(T) }} }

// Type does the same as Of, for a reflect.Type.
func Type(t reflect.Type) Codec { return Codec{New: func() any { return reflect.New(t).Interface() }} }

func (c Codec) marshal(value any) ([]byte, error) {
	if c.Marshal != nil {
		return c.Marshal(value)
	}
	return json.Marshal(value)
}

// Check fails unless each form in the files has a codec that decodes it to the recorded values and encodes these values without a loss, and
// unless each codec has a form. The message about a codec without a form contains an example that the present code writes.
func Check(t *testing.T, codecs map[string]Codec) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "stored", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no stored forms: %v", err)
	}
	covered := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var forms map[string]Form
		if err := json.Unmarshal(text, &forms); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, form := range forms {
			codec, ok := codecs[name]
			if !ok {
				t.Errorf("%s: no codec for %s, which earlier versions have stored", file, name)
				continue
			}
			covered[name] = true
			for _, problem := range codec.Problems(form) {
				t.Errorf("%s: %s: %s", file, name, problem)
			}
		}
	}
	for name, codec := range codecs {
		if !covered[name] {
			form, err := Example(codec)
			t.Errorf("%s is stored, but no file contains its form; add it to a new file testdata/stored/COMMIT.json, such as (%v)\n%s", name, err,
				form)
		}
	}
}

// Problems returns the differences between the recorded values of a form and those that the present code decodes and encodes.
func (c Codec) Problems(form Form) (problems []string) {
	value := c.New()
	if err := json.Unmarshal(form.Stored, value); err != nil {
		return []string{err.Error()}
	}
	means := Values(value)
	for path, want := range form.Means {
		now := path
		if renamed, ok := c.Renamed[path]; ok {
			now = renamed
		}
		if got, ok := means[now]; !ok || !reflect.DeepEqual(got, want) {
			problems = append(problems, fmt.Sprintf("%s was %v, and is decoded as %v", path, want, got))
		}
	}
	again, err := c.marshal(value)
	if err != nil {
		return append(problems, err.Error())
	}
	var before, after any
	if err := json.Unmarshal(form.Stored, &before); err != nil {
		return append(problems, err.Error())
	}
	if err := json.Unmarshal(again, &after); err != nil {
		return append(problems, err.Error())
	}
	problems = append(problems, lost("", before, after)...)
	slices.Sort(problems)
	return problems
}

// lost returns a sentence for each member of before that is missing in after or has another value there.
func lost(path string, before, after any) (problems []string) {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			return []string{path + " is not an object after encoding again"}
		}
		for name, value := range b {
			if _, there := a[name]; !there {
				problems = append(problems, path+"/"+name+" is lost by encoding again")
				continue
			}
			problems = append(problems, lost(path+"/"+name, value, a[name])...)
		}
	case []any:
		a, ok := after.([]any)
		if !ok || len(a) != len(b) {
			return []string{path + " is not a list of the same length after encoding again"}
		}
		for i := range b {
			problems = append(problems, lost(path+"/"+strconv.Itoa(i), b[i], a[i])...)
		}
	default:
		if !reflect.DeepEqual(before, after) {
			return []string{fmt.Sprintf("%s was %v and is %v after encoding again", path, before, after)}
		}
	}
	return problems
}

// Values returns the values of all exported fields below value that are not zero, by their paths.
func Values(value any) map[string]any {
	out := map[string]any{}
	collect(reflect.ValueOf(value), "", out)
	return out
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func collect(v reflect.Value, path string, out map[string]any) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		if v.Type().Implements(marshaler) && v.Kind() == reflect.Pointer && path != "" {
			break
		}
		v = v.Elem()
	}
	join := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	switch own := path != "" && (v.Type().Implements(marshaler) || reflect.PointerTo(v.Type()).Implements(marshaler)); {
	case own:
		out[path] = plain(v.Interface())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && !v.Field(i).IsZero() {
				collect(v.Field(i), join(field.Name), out)
			}
		}
	case v.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			collect(v.MapIndex(key), join(fmt.Sprint(key)), out)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			collect(v.Index(i), join(strconv.Itoa(i)), out)
		}
	default:
		if path == "" {
			path = "value"
		}
		out[path] = plain(v.Interface())
	}
}

// plain converts a value to the type that encoding/json returns for it, so that it can be compared with a value in a file.
func plain(value any) (out any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return err.Error()
	}
	return out
}

// Example returns a form as the present code encodes it, with a value in every field, as indented JSON.
func Example(c Codec) (string, error) {
	value := c.New()
	n := 0
	fill(reflect.ValueOf(value).Elem(), &n, 0)
	text, err := c.marshal(value)
	if err != nil {
		return "", err
	}
	decoded := c.New() // decode the text again: fields that are not stored become zero
	if err := json.Unmarshal(text, decoded); err != nil {
		return string(text), err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	err = enc.Encode(Form{Stored: text, Means: Values(decoded)})
	return b.String(), err
}

// fill sets every field below v to a different value.
func fill(v reflect.Value, n *int, depth int) {
	if depth > 8 || !v.CanSet() {
		return
	}
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, *n*int(time.Millisecond), time.UTC)))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"raw":` + strconv.Itoa(*n) + `}`))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("s" + strconv.Itoa(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n % 100))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n % 100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n, depth+1)
		fill(value, n, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n, depth+1)
		}
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf("any" + strconv.Itoa(*n)))
		}
	}
}
