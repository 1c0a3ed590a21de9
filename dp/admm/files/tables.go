package files

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"coupling/data"
	"coupling/dp/admm"
)

// Utilities returns the utilities that files name, by kind, with parameters a and, but for linear, b.
func Utilities(a, b float64) map[string]admm.Utility {
	return map[string]admm.Utility{
		"linear": admm.Linear{A: a}, "log": admm.Log{A: a, B: b},
		"saturating": admm.Saturating{A: a, B: b}, "quadratic": admm.Quadratic{A: a, B: b},
	}
}

// sparseIndex is how far indices of a list of edges may be beyond ten times their number: each
// stands for a node with a file of its own.
const sparseIndex = 1000

// ReadEdges reads a graph and its utilities: a row an edge, with target, source, and the parameters
// of the target's and of the source's utility. Errors name the file and the row.
func ReadEdges(path string, utility func(a float64) admm.Utility) (p admm.Problem, err error) {
	rows, err := data.ReadPoints(path)
	if err != nil {
		return p, err
	}
	n, columns := rows.Dims()
	if columns != 4 {
		return p, fmt.Errorf("%s: %d columns: want target, source and two parameters", path, columns)
	}
	var edges []admm.Edge
	parameters := map[admm.Edge][2]float64{}
	targets, sources := 0, 0
	for i := range n {
		e := admm.Edge{Target: int(rows.At(i, 0)), Source: int(rows.At(i, 1))}
		if float64(e.Target) != rows.At(i, 0) || float64(e.Source) != rows.At(i, 1) {
			return p, fmt.Errorf("%s: row %d: target %v, source %v: must be integers", path, i+1, rows.At(i, 0),
				rows.At(i, 1))
		}
		if most := 10*n + sparseIndex; e.Target > most || e.Source > most {
			return p, fmt.Errorf("%s: row %d: target %d, source %d: must be at most %d, for a file of this length",
				path, i+1, e.Target, e.Source, most)
		}
		edges, parameters[e] = append(edges, e), [2]float64{rows.At(i, 2), rows.At(i, 3)}
		targets, sources = max(targets, e.Target+1), max(sources, e.Source+1)
	}
	if p.Graph, err = admm.Edges(targets, sources, edges); err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range p.Graph.Edges {
		p.TargetUtility = append(p.TargetUtility, utility(parameters[e][0]))
		p.SourceUtility = append(p.SourceUtility, utility(parameters[e][1]))
	}
	return p, nil
}

// ReadBounds reads the bounds of all nodes of a problem: lines such as "target,3,0,5", where a
// maximum may be inf. Errors name the file and the line.
func ReadBounds(path string, p *admm.Problem) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment, r.FieldsPerRecord, r.TrimLeadingSpace = '#', 4, true
	rows, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	sides := map[string][]admm.Bounds{"target": make([]admm.Bounds, p.Graph.Targets),
		"source": make([]admm.Bounds, p.Graph.Sources)}
	seen := map[admm.ID]bool{}
	for i, row := range rows {
		if i == 0 && strings.EqualFold(row[0], "side") {
			continue
		}
		at, err := strconv.Atoi(row[1])
		if err != nil || sides[row[0]] == nil || at < 0 || at >= len(sides[row[0]]) {
			return fmt.Errorf("%s: line %d: %q: there is no such node", path, i+1, row[:2])
		}
		low, err1 := strconv.ParseFloat(row[2], 64)
		high, err2 := strconv.ParseFloat(row[3], 64)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("%s: line %d: %w", path, i+1, err)
		}
		id := admm.ID{Side: map[string]admm.Side{"source": admm.Source}[row[0]], Index: at}
		if seen[id] {
			return fmt.Errorf("%s: line %d: %v is there twice", path, i+1, id)
		}
		sides[row[0]][at], seen[id] = admm.Bounds{Min: low, Max: high}, true
	}
	if len(seen) != p.Graph.Targets+p.Graph.Sources {
		return fmt.Errorf("%s: bounds of %d nodes, the network has %d", path, len(seen),
			p.Graph.Targets+p.Graph.Sources)
	}
	p.TargetBounds, p.SourceBounds = sides["target"], sides["source"]
	return nil
}
