package nb

import (
	"fmt"
	"reflect"
	"strings"

	"coupling/lab"
	"coupling/lab/store"
)

// rowsOf are the rows of a []lab.Result; nil for other types.
func rowsOf(x any) (rows []store.Row, err error) {
	v := reflect.ValueOf(x)
	if v.Kind() != reflect.Slice {
		return nil, nil
	}
	for i := range v.Len() {
		r, ok := v.Index(i).Interface().(interface{ Row() (store.Row, error) })
		if !ok {
			return nil, nil
		}
		row, err := r.Row()
		if err != nil {
			return nil, fmt.Errorf("nb: %w", err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// results is the table of a sweep: the parameters that differ, and the values.
func results(rows []store.Row) lab.Table {
	var shown []string
	t := lab.Table{Rows: make([][]string, len(rows))}
	for _, c := range store.Columns(rows) {
		cells := map[string]bool{}
		for _, r := range rows {
			cells[store.FormatCell(r[c])] = true
		}
		name, isParam := strings.CutPrefix(c, "param.")
		if len(cells) > 1 && (isParam || c == "seed") || strings.HasPrefix(c, "value") {
			shown, t.Header = append(shown, c), append(t.Header, strings.TrimPrefix(name, "value."))
		}
	}
	for i, r := range rows {
		for _, c := range shown {
			t.Rows[i] = append(t.Rows[i], store.FormatCell(r[c]))
		}
	}
	return t
}
