// Package export writes finished cells for the tools in which people look at sweeps:
// rows ([lab.Record.Flatten]) as CSV, and records for TensorBoard and MLflow. The
// command coupling-parquet writes Parquet, so that coupling does not carry its library.
package export

import (
	"encoding/csv"
	"fmt"
	"io"

	"coupling/lab"
)

// CSV writes rows under a header of [lab.Columns]. A cell that a row lacks is
// empty; NaN, +Inf and -Inf are written so.
func CSV(w io.Writer, rows []lab.Row) error {
	cols := lab.Columns(rows)
	out := csv.NewWriter(w)
	_ = out.Write(cols) // Error tells
	rec := make([]string, len(cols))
	for _, r := range rows {
		for i, c := range cols {
			rec[i] = lab.FormatCell(r[c])
		}
		_ = out.Write(rec)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("export: csv: %w", err)
	}
	return nil
}
