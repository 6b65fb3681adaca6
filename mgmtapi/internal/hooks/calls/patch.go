package calls

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// The operations that hooks may use, as RFC 6902 has them.
const (
	opAdd     = "add"
	opReplace = "replace"
	opRemove  = "remove"
)

// decode reads one JSON value and keeps its numbers as they are.
func decode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// change carries an operation out below a value and returns the value as it is then, or says why it cannot be (RFC 6902 section 4). The
// path has at least one segment. Objects are changed in place.
func change(in any, path []string, op string, value any) (any, string) {
	switch container := in.(type) {
	case map[string]any:
		return changeObject(container, path, op, value)
	case []any:
		return changeArray(container, path, op, value)
	default:
		return nil, "the path goes through something that is no object and no array"
	}
}

const textMissing = "there is nothing at the path"

func changeObject(object map[string]any, path []string, op string, value any) (any, string) {
	name := path[0]
	old, exists := object[name]
	switch {
	case len(path) > 1:
		if !exists {
			return nil, textMissing
		}
		inner, text := change(old, path[1:], op, value)
		if text != "" {
			return nil, text
		}
		object[name] = inner
	case op == opAdd:
		object[name] = value
	case op != opReplace && op != opRemove:
		return nil, "the operation is none of add, replace and remove"
	case !exists:
		return nil, textMissing
	case op == opReplace:
		object[name] = value
	default:
		delete(object, name)
	}
	return object, ""
}

func changeArray(array []any, path []string, op string, value any) (any, string) {
	if path[0] == "-" && len(path) == 1 && op == opAdd {
		return append(array, value), ""
	}
	i, err := strconv.Atoi(path[0])
	if err != nil || i < 0 || strconv.Itoa(i) != path[0] {
		return nil, "the position in an array is no number"
	}
	if i > len(array) || i == len(array) && (len(path) > 1 || op != opAdd) {
		return nil, textMissing
	}
	if len(path) > 1 {
		inner, text := change(array[i], path[1:], op, value)
		if text != "" {
			return nil, text
		}
		array[i] = inner
		return array, ""
	}
	switch op {
	case opAdd:
		return slices.Insert(array, i, value), ""
	case opReplace:
		array[i] = value
		return array, ""
	case opRemove:
		return slices.Delete(array, i, i+1), ""
	default:
		return nil, "the operation is none of add, replace and remove"
	}
}
