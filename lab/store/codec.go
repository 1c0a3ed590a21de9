package store

import (
	"cmp"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON has no NaN and no infinities, but results may be NaN or infinite. The store writes them as
// the strings "NaN", "+Inf" and "-Inf" wherever the Go type is a float, and reads them back.

// Both remember what they learn about a type. They cost as much as all else, so that they are used
// where the plain form has failed.
var (
	writeFloats = json.WithMarshalers(json.MarshalToFunc(marshalFloat))
	readFloats  = json.WithUnmarshalers(json.UnmarshalFromFunc(unmarshalFloat))
)

// Marshal returns the JSON form in which the store keeps v.
func Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		b, err = json.Marshal(v, json.Deterministic(true), writeFloats)
	}
	return b, err
}

func unmarshal(b []byte, v any, options ...json.Options) error {
	err := json.Unmarshal(b, v, options...)
	if err != nil {
		err = json.Unmarshal(b, v, append(options, readFloats)...)
	}
	return err
}

// canonical orders the members of every object of b by name, so that the order
// of a struct's fields does not matter to a key. Numbers keep their text.
func canonical(b []byte) ([]byte, error) {
	v := jsontext.Value(b)
	if err := v.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return nil, err
	}
	return v, nil
}

func isFloat(k reflect.Kind) bool { return k == reflect.Float64 || k == reflect.Float32 }

func marshalFloat(enc *jsontext.Encoder, v any) error {
	rv := reflect.Indirect(reflect.ValueOf(v))
	if !isFloat(rv.Kind()) {
		return errors.ErrUnsupported // not ours: the default encoding
	}
	if x := rv.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
		return enc.WriteToken(jsontext.String(fmt.Sprint(x)))
	}
	return errors.ErrUnsupported
}

func unmarshalFloat(dec *jsontext.Decoder, v any) error {
	rv := reflect.ValueOf(v).Elem()
	if !isFloat(rv.Kind()) || dec.PeekKind() != '"' {
		return errors.ErrUnsupported
	}
	t, err := dec.ReadToken()
	if err != nil {
		return err
	}
	x, ok := Number(t.String())
	if !ok {
		return fmt.Errorf("%q is not a number", t.String())
	}
	rv.SetFloat(x)
	return nil
}

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
