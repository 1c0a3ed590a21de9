package store

import (
	"errors"
	"fmt"
	"math"
	"reflect"

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
	switch t.String() {
	case "NaN":
		rv.SetFloat(math.NaN())
	case "+Inf":
		rv.SetFloat(math.Inf(1))
	case "-Inf":
		rv.SetFloat(math.Inf(-1))
	default:
		return fmt.Errorf("%q is not a number", t.String())
	}
	return nil
}
