package store

import (
	"cmp"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Parameters and results are stored as JSON, which drops or confuses some types: two cells that
// differ in an unexported field would share a key, and a recalled result could differ from the
// computed one. So types are checked before anything runs.

// shape returns a fingerprint of the JSON form of t, or an error that names the first part of t
// without a faithful one. It is part of the key, so that a cell that was stored before a field was
// added is not recalled with a zero in that field's place.
func shape(t reflect.Type) (string, error) {
	d := description{open: map[reflect.Type]bool{}}
	if err := d.add(t, t.String()); err != nil {
		return "", err
	}
	h := sha256.Sum256([]byte(d.String()))
	return hex.EncodeToString(h[:4]), nil
}

// A description of a type is written while the types in open are.
type description struct {
	strings.Builder
	open map[reflect.Type]bool
}

func (d *description) add(t reflect.Type, at string) error {
	if t == reflect.TypeFor[time.Duration]() {
		return fmt.Errorf("%s: time.Duration has no JSON form: use a float64 of seconds", at)
	}
	if d.open[t] || ownForm(t) { // recursive, or opaque
		d.WriteString(t.PkgPath() + "." + t.Name())
		return nil
	}
	d.open[t] = true
	defer delete(d.open, t)
	switch t.Kind() {
	case reflect.Pointer:
		d.WriteString("?")
		return d.add(t.Elem(), at)
	case reflect.Slice, reflect.Array:
		d.WriteString("[]")
		return d.add(t.Elem(), at)
	case reflect.Map:
		if k := t.Key().Kind(); k == reflect.Float32 || k == reflect.Float64 {
			return fmt.Errorf("%s: a map with keys of type %s: keys must be strings or integers", at, t.Key())
		}
		d.WriteString("map " + t.Key().Kind().String() + ":")
		return d.add(t.Elem(), at)
	case reflect.Struct:
		return d.fields(t, at)
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer,
		reflect.Uintptr:
		return fmt.Errorf("%s: type %s has no faithful JSON form", at, t)
	}
	d.WriteString(t.Kind().String())
	return nil
}

func (d *description) fields(t reflect.Type, at string) error {
	d.WriteString("{")
	for f := range t.Fields() {
		inner := at + "." + f.Name
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported():
			return fmt.Errorf("%s: an unexported field is lost: export it, or keep what it holds as an artifact", inner)
		case name == "-" && options == "":
			return fmt.Errorf("%s: its tag drops it", inner)
		case strings.Contains(options, "string"):
			return fmt.Errorf("%s: the tag option string is not supported", inner)
		}
		d.WriteString(cmp.Or(name, f.Name) + " ")
		if err := d.add(f.Type, inner); err != nil {
			return err
		}
		d.WriteString(";")
	}
	d.WriteString("}")
	return nil
}

// ownForm reports whether t writes and reads a JSON form of its own.
func ownForm(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[stdjson.Marshaler]()) && p.Implements(reflect.TypeFor[stdjson.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) &&
			p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
