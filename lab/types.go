package lab

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Parameters and results live as JSON, and what JSON would drop or confuse must
// not slip through: two cells that differ in an unexported field would share a
// key, and a result would come back different from what went in. So the types
// are looked at before anything runs.

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[stdjson.Marshaler]()
	textReader    = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonReader    = reflect.TypeFor[stdjson.Unmarshaler]()
)

// checkType returns an error that names the first part of t that has no
// faithful JSON form.
func checkType(t reflect.Type) error { return checkPart(t, t.String(), map[reflect.Type]bool{}) }

func checkPart(t reflect.Type, at string, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if t == reflect.TypeFor[time.Duration]() {
		return fmt.Errorf("%s: time.Duration has no JSON form: use a float64 of seconds", at)
	}
	if ownForm(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return checkPart(t.Elem(), at, seen)
	case reflect.Map:
		switch t.Key().Kind() {
		case reflect.Float32, reflect.Float64:
			return fmt.Errorf("%s: a map with keys of type %s: keys must be strings or integers", at, t.Key())
		}
		return checkPart(t.Elem(), at, seen)
	case reflect.Struct:
		return checkFields(t, at, seen)
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("%s: type %s has no faithful JSON form", at, t)
	}
	return nil
}

func checkFields(t reflect.Type, at string, seen map[reflect.Type]bool) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name := at + "." + f.Name
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported():
			return fmt.Errorf("%s: an unexported field is lost: export it, or keep what it holds as an artifact", name)
		case tag == "-" && options == "":
			return fmt.Errorf("%s: its tag drops it", name)
		case strings.Contains(options, "string"):
			return fmt.Errorf("%s: the tag option string is not supported", name)
		}
		if err := checkPart(f.Type, name, seen); err != nil {
			return err
		}
	}
	return nil
}

// ownForm reports whether t writes and reads a JSON form of its own.
func ownForm(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshaler) && p.Implements(jsonReader) || p.Implements(textMarshaler) && p.Implements(textReader)
}

// shape is a fingerprint of the JSON form of t. It is part of the key, so that
// a cell that was stored before a field was added is not recalled with a zero
// in that field's place.
func shape(t reflect.Type) string {
	var b strings.Builder
	describe(&b, t, map[reflect.Type]bool{})
	h := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(h[:4])
}

func describe(b *strings.Builder, t reflect.Type, open map[reflect.Type]bool) {
	if open[t] || ownForm(t) { // recursive, or opaque
		b.WriteString(t.PkgPath() + "." + t.Name())
		return
	}
	open[t] = true
	defer delete(open, t)
	switch t.Kind() {
	case reflect.Pointer:
		b.WriteString("?")
		describe(b, t.Elem(), open)
	case reflect.Slice, reflect.Array:
		b.WriteString("[]")
		describe(b, t.Elem(), open)
	case reflect.Map:
		b.WriteString("map " + t.Key().Kind().String() + ":")
		describe(b, t.Elem(), open)
	case reflect.Struct:
		b.WriteString("{")
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			b.WriteString(name + " ")
			describe(b, f.Type, open)
			b.WriteString(";")
		}
		b.WriteString("}")
	default:
		b.WriteString(t.Kind().String())
	}
}
