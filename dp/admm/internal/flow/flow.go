// Package flow computes maximum flows with real capacities.
package flow

import (
	"math"
	"slices"
)

// Flow is a maximum flow by Dinic's algorithm (1970), which ends after at most V phases of shortest
// augmenting paths whatever the capacities. Arc a and its reverse a^1 share an edge.
type Flow struct {
	from, to int
	first    []int32 // of each node, the newest of its arcs
	next     []int32
	head     []int32
	room     []float64
	level    []int32
	turn     []int32 // the arc of each node that is tried next
}

// New returns a network of nodes 0..nodes−1, with flow from one of them to another, with room for so many edges.
func New(nodes, from, to, edges int) *Flow {
	f := &Flow{
		from:  from,
		to:    to,
		first: slices.Repeat([]int32{-1}, nodes),
		level: make([]int32, nodes),
		turn:  make([]int32, nodes),
	}
	f.next, f.head, f.room = make([]int32, 0, 2*edges), make([]int32, 0, 2*edges), make([]float64, 0, 2*edges)
	return f
}

// Add joins a to b, with room for forth from a to b and back from b to a, and returns the arc.
func (f *Flow) Add(a, b int, forth, back float64) int {
	arc := int32(len(f.head))
	f.next = append(f.next, f.first[a], f.first[b])
	f.head = append(f.head, int32(b), int32(a))
	f.room = append(f.room, forth, back)
	f.first[a], f.first[b] = arc, arc+1
	return int(arc)
}

// Run sends what can be sent, and returns the nodes on the near side of a least cut.
func (f *Flow) Run() (reached []bool) {
	for f.levels() {
		copy(f.turn, f.first)
		for f.push(f.from, math.Inf(1)) > 0 {
		}
	}
	reached = make([]bool, len(f.level))
	for i, l := range f.level {
		reached[i] = l >= 0
	}
	return reached
}

// levels finds the distance of every node and reports whether the end is within reach.
func (f *Flow) levels() bool {
	for i := range f.level {
		f.level[i] = -1
	}
	f.level[f.from] = 0
	for queue := []int{f.from}; len(queue) > 0; queue = queue[1:] {
		for a := f.first[queue[0]]; a >= 0; a = f.next[a] {
			if n := f.head[a]; f.room[a] > 0 && f.level[n] < 0 {
				f.level[n] = f.level[queue[0]] + 1
				queue = append(queue, int(n))
			}
		}
	}
	return f.level[f.to] >= 0
}

// push sends at most most from node n along shortest paths and returns what it sent. Paths are no
// longer than levels are deep.
func (f *Flow) push(n int, most float64) (sent float64) {
	if n == f.to {
		return most
	}
	for ; f.turn[n] >= 0; f.turn[n] = f.next[f.turn[n]] {
		a := f.turn[n]
		if f.room[a] <= 0 || f.level[f.head[a]] != f.level[n]+1 {
			continue
		}
		d := f.push(int(f.head[a]), min(most-sent, f.room[a]))
		f.room[a] -= d
		f.room[a^1] += d
		if sent += d; sent == most {
			return sent
		}
	}
	return sent
}

// Back is the room of an arc's reverse: what the arc carries, if there was none at first.
func (f *Flow) Back(arc int) float64 { return f.room[arc^1] }
