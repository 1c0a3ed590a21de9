// Package refs reads reference values, for the tests below dp.
package refs

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"coupling/lab/logspace"
)

// Load reads a file of reference values from shared/refs/dp beside the module, or the few cases in
// the package's testdata.
func Load(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	for dir := ".."; len(dir) < 20; dir = filepath.Join("..", dir) {
		if all, other := os.ReadFile(filepath.Join(dir, "shared", "refs", "dp", name)); other == nil {
			b, err = all, nil
			break
		}
	}
	if err != nil {
		t.Skipf("no reference values: neither ../shared/refs/dp/%s nor testdata/%s", name, name)
	}
	b = regexp.MustCompile(`: (NaN|-?Infinity)`).ReplaceAll(b, []byte(": null")) // some error estimates
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// Number reads a number.
func Number(t testing.TB, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Log reads a number that may be below the range of float64, and returns its log.
func Log(t testing.TB, s string) float64 {
	t.Helper()
	f, _, err := big.ParseFloat(s, 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	if f.Sign() == 0 {
		return math.Inf(-1)
	}
	m := new(big.Float)
	e := f.MantExp(m)
	x, _ := m.Float64()
	return logspace.Log(x) + float64(e)*math.Ln2
}
