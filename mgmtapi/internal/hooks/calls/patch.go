package calls

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// The operations that hooks may use, as in RFC 6902.
const (
	opAdd     = "add"
	opReplace = "replace"
	opRemove  = "remove"
)

// decode reads one JSON value and preserves its numbers.
func decode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// change applies an operation below a value and returns the new value, or the reason why the operation cannot be applied (RFC 6902 section
// 4). The path has at least one segment. Objects are changed in place.
func change(in any, path []string, op string, value any) (any, string) {
	switch container := in.(type) {
	case map[string]any:
		return changeObject(container, path, op, value)
	case []any:
		return changeArray(container, path, op, value)
	default:
		return nil, "the path goes through a value that is neither an object nor an array"
	}
}

const textMissing = "the path does not exist"

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
		return nil, "the operation must be add, replace or remove"
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
		return nil, "the array index is not a number"
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
		return nil, "the operation must be add, replace or remove"
	}
}
