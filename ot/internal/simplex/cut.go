package simplex

import (
	"fmt"
	"slices"
	"strings"

	"coupling/ot/internal/fault"
)

// cut returns the error of an optimal basis in which source first must use forbidden pairs. It names the
// sources that share the targets of first: by optimality they alone fill all targets that they may send to,
// which is too little room (Hall 1935).
func (s *simplex) cut(first int) error {
	senders := make([][]int, s.m)
	s.each(func(i, j int, w, c float64) {
		if c < s.large {
			senders[j] = append(senders[j], i)
		}
	})
	in, room := map[int]bool{first: true}, map[int32]bool{}
	crowd := []int{first}
	var mass, space Mass
	for k := 0; k < len(crowd); k++ {
		mass = mass.Add(s.supply.A[crowd[k]])
		to, cost := s.allArcs(crowd[k])
		for at, j := range to {
			if cost[at] >= s.large || room[j] {
				continue
			}
			room[j], space = true, space.Add(s.supply.B[j])
			for _, i := range senders[j] {
				if !in[i] {
					in[i], crowd = true, append(crowd, i)
				}
			}
		}
	}
	slices.Sort(crowd)
	return bad(fault.ErrInfeasible, "%s mass %.6g in all, and the allowed targets (%d) room for %.6g",
		names(crowd), s.supply.Weight(mass), len(room), s.supply.Weight(space))
}

// names lists sources, the first few of many.
func names(sources []int) string {
	const most = 8
	if len(sources) == 1 {
		return fmt.Sprintf("source %d has", sources[0])
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(sources[:min(most, len(sources))]), " ", ", "), "[]")
	if len(sources) > most {
		return fmt.Sprintf("%d sources (%s, …) have", len(sources), list)
	}
	return fmt.Sprintf("sources %s have", list)
}
